#include "core/ops/blas.hpp"

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/ops/openblas_library.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace troupe {
namespace {

constexpr const char* library = "libopenblas.so.0";

constexpr const char* raise_limit = "raise the limit of address space (ulimit -v)";

Error absent() {
  const char* const said = dlerror();
  const std::string why = said != nullptr ? said : library;
  const bool is_there = why.find("failed to map") != why.npos;
  return run_error(fmt::format("OpenBLAS can't be loaded: {}", why),
                   is_there ? raise_limit : "install it (Debian: libopenblas0)");
}

// OpenBLAS asks for a buffer of 128 MiB for each call at a time, and again without end while it
// gets none. By then, the C library has reserved 64 MiB for each thread that has asked it for
// memory.
void check_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  cpu_set_t cores;
  const bool is_known = sched_getaffinity(0, sizeof cores, &cores) == 0;
  // Runs of many cores may well call it on fewer.
  constexpr int calls_max = 8;
  const auto calls =
      static_cast<std::size_t>(is_known ? std::min(CPU_COUNT(&cores), calls_max) : 1);
  const std::size_t bytes = calls * (std::size_t{192} << 20) + (std::size_t{128} << 20);
  void* const room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    throw run_error(
        fmt::format("OpenBLAS, on {}, takes {} of address space, and less is left of the {} that "
                    "this process may have",
                    format_count(calls, "core"), format_bytes(bytes), format_bytes(limit.rlim_cur)),
        std::string(raise_limit) + ", or use fewer cores (taskset)");
  }
  munmap(room, bytes);
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
  check_address_space();
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
