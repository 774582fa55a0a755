// take: elements along an axis, by their numbers.
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/backend/cuda/kernels/take.cuh"
#include "core/ops/axis.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/failures.hpp"

#include <cstdint>
#include <string>
#include <type_traits>

namespace troupe::cuda_launchers {

void take(const CudaCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const AxisView view(shape, axis_in(shape, call.attrs));
  const std::int64_t count = call.inputs[1].type.shape.elements();
  const std::int64_t elements = call.output.type.shape.elements();
  with_number(call.inputs[1].type.dtype, [&](auto any_number) {
    using Number = decltype(any_number);
    if constexpr (std::is_integral_v<Number>) {
      const Number* const numbers = call.inputs[1].as<Number>();
      launch(call, single_block, device_kernels::check_numbers<Number>, numbers, count, view.extent,
             call.verdict);
      with_number(call.output.type.dtype, [&](auto element) {
        using T = decltype(element);
        launch(call, threads_for(elements), device_kernels::take_rows<T, Number>,
               call.inputs[0].as<T>(), view.extent, view.inner, numbers, count, call.output.as<T>(),
               elements);
      });
    }
  });
}

std::string explain_number(std::int32_t verdict) {
  return no_such_element(verdict - 1).what();
}

}  // namespace troupe::cuda_launchers
