// The functions of the CUDA runtime, cuBLAS and cuSOLVER that launchers call, for tests of the
// launchers alone: kernels run on the CPU, at once, and device memory is that of the host.
#pragma once

#include <string>
#include <vector>

namespace troupe::testing {

// The mangled names of all kernels that the program registered before main().
std::vector<std::string> registered_kernels();

}  // namespace troupe::testing
