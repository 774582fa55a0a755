// An OpenBLAS that doesn't know this processor: its kernels are Prescott's unless OPENBLAS_CORETYPE
// names others when it is loaded.
#include <cstdio>
#include <cstdlib>

namespace {

char core_type[32] = "Prescott";

__attribute__((constructor)) void choose_core_type() {
  const char* const wanted = std::getenv("OPENBLAS_CORETYPE");
  if (wanted != nullptr) std::snprintf(core_type, sizeof core_type, "%s", wanted);
}

}  // namespace

extern "C" const char* openblas_get_corename() {
  return core_type;
}
