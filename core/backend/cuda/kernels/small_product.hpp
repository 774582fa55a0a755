// Products so small that a call of cuBLAS takes longer than the product: on an H200, 8 us of the
// host where a kernel takes 3.
#pragma once

#include "core/backend/cuda/cuda_call.hpp"
#include "core/ops/product.hpp"

namespace troupe {

// Whether launch_small_product() is for it.
bool is_small(const Product& product);

// Enqueues the product of the first two inputs, to which beta times the output is added. T is float
// or double. Throws a run Error if the kernel can't be launched.
template <class T>
void launch_small_product(const CudaCall& call, const Product& product);

}  // namespace troupe
