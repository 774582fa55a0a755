// add, sub, mul, div, maximum and minimum, with broadcasting: see core/ops/arithmetic.cpp.
#include "core/backend/cuda/kernels/boxes.cuh"
#include "core/backend/cuda/kernels/launch_elements.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/ops/layout.hpp"
#include "core/ops/reduction.hpp"

#include <functional>

namespace troupe::cuda_launchers {
namespace {

template <template <class> class Operation, bool takes_integers = true>
void arithmetic(const CudaCall& call) {
  const ConstTensorView& a = call.inputs[0];
  const ConstTensorView& b = call.inputs[1];
  const TensorView& out = call.output;
  with_type<takes_integers>(out.type.dtype, [&](auto element) {
    using T = decltype(element);
    using F = Operation<T>;
    if (a.type == b.type) return launch_each_element<T, 2>(call, F{});
    const auto box = broadcast_box(a.type.shape, b.type.shape, out.type.shape);
    launch(call, threads_for(out.type.shape.elements()), device_kernels::each_place<T, F, 3, T, T>,
           box, out.as<T>(), F{}, a.as<T>(), b.as<T>());
  });
}

}  // namespace

void add(const CudaCall& call) {
  arithmetic<std::plus>(call);
}
void sub(const CudaCall& call) {
  arithmetic<std::minus>(call);
}
void mul(const CudaCall& call) {
  arithmetic<std::multiplies>(call);
}
void div(const CudaCall& call) {
  arithmetic<std::divides, false>(call);
}
void maximum(const CudaCall& call) {
  arithmetic<Max>(call);
}
void minimum(const CudaCall& call) {
  arithmetic<Min>(call);
}

}  // namespace troupe::cuda_launchers
