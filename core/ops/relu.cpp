// relu: out[i] = max(x[i], 0); a NaN stays a NaN.
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {
namespace {

TensorType type(const OpSignature& op) {
  return op.inputs[0];
}

// One comparison per element, counted as one operation.
Work work(const OpSignature& op, const TensorType& output) {
  return streaming_work(op, output, 1);
}

void kernel(const CpuCall& call) {
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const x = call.inputs[0].as<T>();
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) out[i] = x[i] < T{0} ? T{0} : x[i];
               });
  });
}

}  // namespace

OpKind relu_op() {
  return {.name = "relu",
          .summary = "max(x, 0), element by element",
          .inputs_min = 1,
          .inputs_max = 1,
          .type = type,
          .work = work,
          .cpu = kernel};
}

}  // namespace troupe
