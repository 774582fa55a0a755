// A kernel that stands where others will.
#pragma once

namespace troupe::device_kernels {

__global__ inline void nothing() {}

}  // namespace troupe::device_kernels
