// A kernel without arguments that does nothing: in graphs that are made before their kernels are
// known, and to see whether a GPU can run any.
#pragma once

namespace troupe {

// As KernelLaunch::kernel.
const void* nothing_kernel();

}  // namespace troupe
