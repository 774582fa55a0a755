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
            const std::int64_t length = row_length(shape);
            with_element(call.output.type.dtype, [&](auto element) {
              using T = decltype(element);
              for_row_blocks_of(call.team, shape, [&](std::int64_t begin, std::int64_t end) {
                softmax_rows(call.inputs[0].as<T>() + begin * length, T{1},
                             call.output.as<T>() + begin * length, end - begin, length);
              });
            });
          }};
}

}  // namespace troupe
