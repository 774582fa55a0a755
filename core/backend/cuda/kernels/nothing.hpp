// A kernel without arguments that does nothing, in graphs that are made before their kernels are
// known.
#pragma once

namespace troupe {

// As KernelLaunch::kernel.
const void* nothing_kernel();

}  // namespace troupe
