#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/small_product.cuh"
#include "core/backend/cuda/kernels/small_product.hpp"

#include <algorithm>

namespace troupe {

using device_kernels::small_extent_max;

bool is_small(const Product& p) {
  constexpr double flops_max = 2.0 * small_extent_max * small_extent_max * small_extent_max;
  return std::max({p.batch, p.m, p.n, p.k}) <= small_extent_max &&
         static_cast<double>(p.batch) * p.flops() <= flops_max;
}

template <class T>
void launch_small_product(const CudaCall& call, const Product& p) {
  const device_kernels::SmallProduct product{.transpose_a = p.transpose_a,
                                             .transpose_b = p.transpose_b,
                                             .batch = static_cast<int>(p.batch),
                                             .m = static_cast<int>(p.m),
                                             .n = static_cast<int>(p.n),
                                             .k = static_cast<int>(p.k),
                                             .a_stride = static_cast<int>(p.a_stride),
                                             .b_stride = static_cast<int>(p.b_stride)};
  const auto tiles = [](std::int64_t extent) {
    return (extent + device_kernels::small_tile - 1) / device_kernels::small_tile;
  };
  launch(call,
         {.blocks = static_cast<unsigned>(p.batch * tiles(p.m) * tiles(p.n)),
          .threads = device_kernels::small_block_threads},
         device_kernels::small_product<T>, product, static_cast<T>(p.alpha), call.inputs[0].as<T>(),
         call.inputs[1].as<T>(), static_cast<T>(p.beta), call.output.as<T>());
}

template void launch_small_product<float>(const CudaCall&, const Product&);
template void launch_small_product<double>(const CudaCall&, const Product&);

}  // namespace troupe
