// take and index_add: elements along an axis, by their numbers.
#include "core/backend/cuda/kernels/copy_on_device.hpp"
#include "core/backend/cuda/kernels/launch.cuh"
#include "core/backend/cuda/kernels/launchers.hpp"
#include "core/backend/cuda/kernels/take.cuh"
#include "core/ops/axis.hpp"
#include "core/ops/element_numbers.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/failures.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

namespace troupe::cuda_launchers {
namespace {

// Checks the numbers, and calls f(view of x, numbers, their count).
template <class F>
void with_numbers(const CudaCall& call, const F& f) {
  with_element_numbers(
      call, [&]<class Number>(const AxisView& view, const Number* numbers, std::int64_t count) {
        launch(call, single_block, device_kernels::check_numbers<Number>, numbers, count,
               view.extent, call.verdict);
        f(view, numbers, count);
      });
}

}  // namespace

void take(const CudaCall& call) {
  const std::int64_t elements = call.output.type.shape.elements();
  with_numbers(call,
               [&]<class Number>(const AxisView& view, const Number* numbers, std::int64_t count) {
                 with_number(call.output.type.dtype, [&](auto element) {
                   using T = decltype(element);
                   launch(call, threads_for(elements), device_kernels::take_rows<T, Number>,
                          call.inputs[0].as<T>(), view.extent, view.inner, numbers, count,
                          call.output.as<T>(), elements);
                 });
               });
}

void index_add(const CudaCall& call) {
  // Enough threads for a large GPU, if there are as many rows.
  constexpr std::int64_t threads_wanted = 1 << 14;
  constexpr std::uint64_t lanes_max = 1024;
  copy_on_device(call, call.inputs[0].data, call.output.data, call.output.type.bytes());
  with_numbers(
      call, [&]<class Number>(const AxisView& view, const Number* numbers, std::int64_t count) {
        const std::int64_t columns = view.outer * view.inner;
        const auto lanes = static_cast<std::int64_t>(std::min(
            lanes_max, std::bit_ceil(static_cast<std::uint64_t>(threads_wanted / columns + 1))));
        with_number(call.output.type.dtype, [&](auto element) {
          using T = decltype(element);
          launch(call, threads_for(columns * lanes), device_kernels::add_rows<T, Number>,
                 call.inputs[2].as<T>(), numbers, count, view.extent, view.inner, columns, lanes,
                 call.output.as<T>());
        });
      });
}

std::string explain_number(std::int32_t verdict) {
  return no_such_element(verdict - 1).what();
}

}  // namespace troupe::cuda_launchers
