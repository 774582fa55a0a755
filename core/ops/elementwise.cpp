// add, sub, mul: out[i] = a[i] ∘ b[i] for two tensors of one type.
#include "core/ops/elementwise.hpp"

#include "core/ops/builtin.hpp"

#include <functional>

#include <fmt/format.h>

namespace troupe {
namespace {

TensorType same_types(const OpSignature& op) {
  const TensorType& a = op.inputs[0];
  const TensorType& b = op.inputs[1];
  if (a != b) {
    throw usage_error(fmt::format("the inputs are {} and {}", to_string(a), to_string(b)),
                      "both must have the same type and shape");
  }
  return a;
}

// One operation per element.
Work work(const OpSignature& op, const TensorType& output) {
  return streaming_work(op, output, 1);
}

template <template <class> class Operation>
void kernel(const CpuCall& call) {
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const a = call.inputs[0].as<T>();
    const T* const b = call.inputs[1].as<T>();
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) out[i] = Operation<T>{}(a[i], b[i]);
               });
  });
}

template <template <class> class Operation>
OpKind binary_op(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .inputs_min = 2,
          .inputs_max = 2,
          .type = same_types,
          .work = work,
          .cpu = kernel<Operation>};
}

}  // namespace

OpKind add_op() {
  return binary_op<std::plus>("add", "a + b, element by element");
}
OpKind sub_op() {
  return binary_op<std::minus>("sub", "a - b, element by element");
}
OpKind mul_op() {
  return binary_op<std::multiplies>("mul", "a * b, element by element");
}

}  // namespace troupe
