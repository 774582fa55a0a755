#include "core/ops/blas.hpp"

#include "core/base/error.hpp"

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
Function find(void* handle, const char* name) {
  void* const symbol = dlsym(handle, name);
  if (symbol == nullptr) throw absent();
  return reinterpret_cast<Function>(symbol);
}

Blas load() {
  // The library reads this variable when it is loaded.
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw absent();
  find<decltype(&openblas_set_num_threads)>(handle, "openblas_set_num_threads")(1);
  return {.sgemm = find<decltype(&cblas_sgemm)>(handle, "cblas_sgemm"),
          .dgemm = find<decltype(&cblas_dgemm)>(handle, "cblas_dgemm")};
}

}  // namespace

const Blas& Blas::instance() {
  static const Blas blas = load();
  return blas;
}

}  // namespace troupe
