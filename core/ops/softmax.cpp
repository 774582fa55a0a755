// softmax: exp(x) divided by the sum of exp(x), for each row along the last axis.
#include "core/ops/builtin.hpp"
#include "core/ops/rows.hpp"
#include "core/ops/vector_math.hpp"

namespace troupe {

// Per element: a comparison, a subtraction, a call of exp, an addition and a division.
OpKind softmax_op() {
  return {.name = "softmax",
          .summary = "exp(x) divided by its sum, along the last axis",
          .inputs = 1,
          .work = streaming<5>,
          .cpu = [](const CpuCall& call) {
            const Shape& shape = call.output.type.shape;
            with_element(call.output.type.dtype, [&](auto element) {
              using T = decltype(element);
              for_each_row(call.team, shape, [&](std::size_t, std::int64_t first) {
                softmax_row(call.inputs[0].as<T>() + first, T{1}, call.output.as<T>() + first,
                            row_length(shape));
              });
            });
          }};
}

}  // namespace troupe
