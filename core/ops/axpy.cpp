// scale and axpy: multiples of a tensor. Attributes are rounded to the tensor's element type, and
// so is each result on the way. Integers wrap around.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/element_number.hpp"
#include "core/ops/elementwise.hpp"

namespace troupe {
namespace {

TensorType scale_type(const OpSignature& op) {
  const TensorType type = common_type(op);
  check_element_number(op.attrs, "scale", "alpha", type.dtype);
  check_element_number(op.attrs, "scale", "shift", type.dtype);
  if (is_integer(type.dtype) && op.attrs.get<double>("divisor") != 1) {
    throw unfit_inputs(op.inputs, "integers aren't divided: cast it to float32 or float64");
  }
  return type;
}

}  // namespace

OpKind scale_op() {
  return {.name = "scale",
          .summary = "alpha * x / divisor + shift",
          .inputs = 1,
          .attrs = {{.name = "alpha", .fallback = 1.0, .required = true},
                    {.name = "divisor", .fallback = 1.0},
                    {.name = "shift", .fallback = -0.0}},
          .takes_integers = true,
          .in_place_of = 0,
          .type = scale_type,
          .cpu = [](const CpuCall& call) { for_each_number<1>(call, Scale::of(call.attrs)); }};
}

OpKind axpy_op() {
  return {.name = "axpy",
          .summary = "alpha * x + y",
          .inputs = 2,
          .attrs = {{.name = "alpha", .fallback = 1.0, .required = true}},
          .in_place_of = 1,
          .work = streaming<2>,
          .cpu = [](const CpuCall& call) {
            for_each_element<2>(call, Axpy{call.attrs.get<double>("alpha")});
          }};
}

}  // namespace troupe
