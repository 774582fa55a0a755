// Loads OpenBLAS so that it computes with the instructions that this processor has.
//
// OpenBLAS has kernels for many processors, and chooses some by the model number of the processor
// when it is loaded. Releases up to 0.3.24 have kernels of 2004 for models of Intel's that they
// don't know (OpenBLAS issue 4267): Prescott's, for SSE3, also where the processor has AVX-512.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

struct CpuFeatures {
  bool has_avx2 = false;    // and FMA
  bool has_avx512 = false;  // F, BW, CD, DQ and VL, as Intel's Skylake servers have it
};

// Of this processor, as far as the operating system lets programs use them.
CpuFeatures cpu_features();

// What OPENBLAS_CORETYPE should be if OpenBLAS has chosen the kernels named `chosen`; empty if they
// are to stay.
std::string better_core_type(std::string_view chosen, const CpuFeatures& features);

// Opens `library`, as dlopen does. If there is a better core type, closes the library and opens it
// once more with that, unless the user has set OPENBLAS_CORETYPE. No use if other code of this
// process has the library open, which then stays as it is. Leaves the environment as it was, but
// changes it meanwhile: other threads should not look at it then. Returns nullptr if the library
// can't be opened: see dlerror.
void* open_openblas(const char* library, const CpuFeatures& features);

}  // namespace troupe
