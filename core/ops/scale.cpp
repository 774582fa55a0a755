// scale: out[i] = alpha * x[i], with alpha rounded to the tensor's element type.
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {
namespace {

TensorType type(const OpSignature& op) {
  return op.inputs[0];
}

// One multiplication per element.
Work work(const OpSignature& op, const TensorType& output) {
  return streaming_work(op, output, 1);
}

void kernel(const CpuCall& call) {
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T alpha = static_cast<T>(std::get<double>(call.attrs[0]));
    const T* const x = call.inputs[0].as<T>();
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) out[i] = alpha * x[i];
               });
  });
}

}  // namespace

OpKind scale_op() {
  return {.name = "scale",
          .summary = "alpha * x",
          .inputs_min = 1,
          .inputs_max = 1,
          .attrs = {{.name = "alpha", .fallback = 1.0, .required = true}},
          .type = type,
          .work = work,
          .cpu = kernel};
}

}  // namespace troupe
