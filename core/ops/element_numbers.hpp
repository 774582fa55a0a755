// The second input of take and index_add: numbers of elements along an axis of the first.
#pragma once

#include "core/ops/axis.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/tensor_type.hpp"

#include <cstdint>
#include <type_traits>

namespace troupe {

// Calls f(view of the first input, numbers, their count) with int32 or int64 numbers. They aren't
// checked. `call`: of a kernel for any kind of device.
template <class Call, class F>
void with_element_numbers(const Call& call, const F& f) {
  const Shape& shape = call.inputs[0].type.shape;
  const AxisView view(shape, axis_in(shape, call.attrs));
  const std::int64_t count = call.inputs[1].type.shape.elements();
  with_number(call.inputs[1].type.dtype, [&](auto any_number) {
    using Number = decltype(any_number);
    if constexpr (std::is_integral_v<Number>) {
      f(view, call.inputs[1].template as<Number>(), count);
    }
  });
}

}  // namespace troupe
