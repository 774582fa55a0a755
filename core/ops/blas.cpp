#include "core/ops/blas.hpp"

#include "core/base/error.hpp"
#include "core/ops/openblas_library.hpp"

#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr const char* library = "libopenblas.so.0";

Error absent() {
  const char* const why = dlerror();
  return run_error(fmt::format("OpenBLAS can't be loaded: {}", why != nullptr ? why : library),
                   "install it (Debian: libopenblas0)");
}

template <class Function>
void find(void* handle, const char* name, Function*& function) {
  void* const symbol = dlsym(handle, name);
  if (symbol == nullptr) throw absent();
  function = reinterpret_cast<Function*>(symbol);
}

Blas load() {
  // The library reads this variable when it is loaded.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* const handle = open_openblas(library, cpu_features());
  if (handle == nullptr) throw absent();
  decltype(openblas_set_num_threads)* set_num_threads = nullptr;
  find(handle, "openblas_set_num_threads", set_num_threads);
  set_num_threads(1);
  Blas blas;
  find(handle, "cblas_sgemm", blas.f32.gemm);
  find(handle, "cblas_dgemm", blas.f64.gemm);
  find(handle, "cblas_sgemv", blas.f32.gemv);
  find(handle, "cblas_dgemv", blas.f64.gemv);
  find(handle, "cblas_ssyrk", blas.f32.syrk);
  find(handle, "cblas_dsyrk", blas.f64.syrk);
  find(handle, "cblas_strsm", blas.f32.trsm);
  find(handle, "cblas_dtrsm", blas.f64.trsm);
  find(handle, "cblas_strsv", blas.f32.trsv);
  find(handle, "cblas_dtrsv", blas.f64.trsv);
  find(handle, "spotrf_", blas.f32.potrf);
  find(handle, "dpotrf_", blas.f64.potrf);
  return blas;
}

}  // namespace

const Blas& Blas::instance() {
  static const Blas blas = load();
  return blas;
}

}  // namespace troupe
