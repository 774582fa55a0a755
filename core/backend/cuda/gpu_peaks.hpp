// What a GPU can do at best, by what its driver says of it.
#pragma once

#include "core/machine/discover.hpp"

namespace troupe {

// What the driver doesn't say is 0.
GpuPeaks peaks_of_gpu(int gpu);

}  // namespace troupe
