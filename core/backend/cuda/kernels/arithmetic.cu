// add, sub, mul, div, maximum, minimum, greater, greater_equal, equal and where, with broadcasting:
// see core/ops/arithmetic.cpp.
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
void greater(const CudaCall& call) {
  arithmetic<Greater>(call);
}
void greater_equal(const CudaCall& call) {
  arithmetic<GreaterEqual>(call);
}
void equal(const CudaCall& call) {
  arithmetic<Equal>(call);
}
void where(const CudaCall& call) {
  const auto& in = call.inputs;
  const TensorView& out = call.output;
  with_number(out.type.dtype, [&](auto element) {
    using T = decltype(element);
    if (in[0].type == in[1].type && in[1].type == in[2].type) {
      return launch_each_element<T, 3>(call, Where{});
    }
    launch(call, threads_for(out.type.shape.elements()),
           device_kernels::each_place<T, Where, 4, T, T, T>, where_box(in, out.type.shape),
           out.as<T>(), Where{}, in[0].template as<T>(), in[1].template as<T>(),
           in[2].template as<T>());
  });
}

}  // namespace troupe::cuda_launchers
