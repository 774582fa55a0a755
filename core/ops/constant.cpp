// zeros and constant: a tensor of the declared type, filled with one value.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/element_number.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {
namespace {

void fill(const CpuCall& call, double value) {
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=, filler = number_of<T>(value)](std::int64_t begin, std::int64_t end) {
                 std::fill(out + begin, out + end, filler);
               });
  });
}

TensorType constant_type(const OpSignature& op) {
  const TensorType type = common_type(op);
  check_element_number(op.attrs, "constant", "value", type.dtype);
  return type;
}

}  // namespace

OpKind zeros_op() {
  return {.name = "zeros",
          .summary = "all zero",
          .declares_type = true,
          .takes_integers = true,
          .work = streaming<0>,
          .cpu = [](const CpuCall& call) { fill(call, 0); }};
}

OpKind constant_op() {
  return {.name = "constant",
          .summary = "`value` everywhere, rounded to the element type",
          .attrs = {{.name = "value", .fallback = 0.0, .required = true}},
          .declares_type = true,
          .takes_integers = true,
          .type = constant_type,
          .work = streaming<0>,
          .cpu = [](const CpuCall& call) { fill(call, call.attrs.get<double>("value")); }};
}

}  // namespace troupe
