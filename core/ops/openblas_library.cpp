#include "core/ops/openblas_library.hpp"

#include <cstdlib>

#include <dlfcn.h>

namespace troupe {
namespace {

constexpr const char* variable = "OPENBLAS_CORETYPE";  // read when the library is loaded

void* open(const char* library) {
  return dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

// Empty if the library doesn't say.
std::string chosen_core_type(void* handle) {
  void* const symbol = dlsym(handle, "openblas_get_corename");
  if (symbol == nullptr) return "";
  const char* const name = reinterpret_cast<const char* (*)()>(symbol)();
  return name != nullptr ? name : "";
}

}  // namespace

CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  features.has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl");
#endif
  return features;
}

std::string better_core_type(std::string_view chosen, const CpuFeatures& features) {
  // What OpenBLAS's get_coretype (driver/others/dynamic.c) takes for models of Intel's and of AMD's
  // that it doesn't know. Both processors are older than AVX.
  const bool is_fallback = chosen == "Prescott" || chosen == "Barcelona";
  if (!is_fallback || !features.has_avx2) return "";
  return features.has_avx512 ? "SkylakeX" : "Haswell";
}

void* open_openblas(const char* library, const CpuFeatures& features) {
  void* handle = open(library);
  if (handle == nullptr || std::getenv(variable) != nullptr) return handle;
  const std::string better = better_core_type(chosen_core_type(handle), features);
  if (better.empty()) return handle;
  dlclose(handle);
  setenv(variable, better.c_str(), 1);
  handle = open(library);  // as it was if others have it open
  unsetenv(variable);
  return handle;
}

}  // namespace troupe
