// reshape: the same values, in the same order, under another shape.
#include "core/ops/builtin.hpp"
#include "core/ops/elementwise.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace troupe {
namespace {

TensorType reshape_type(const OpSignature& op) {
  const TensorType& x = op.inputs[0];
  Integers extents = op.attrs.get<Integers>("shape");
  const auto misfit = [&] {
    return unfit_inputs(op.inputs,
                        fmt::format("its {} elements don't fit the shape {}", x.shape.elements(),
                                    to_string(op.attrs.get<Integers>("shape"))));
  };
  const auto open = std::find(extents.begin(), extents.end(), -1);
  if (open != extents.end()) {
    if (std::find(open + 1, extents.end(), -1) != extents.end()) {
      throw unfit_inputs(
          op.inputs, fmt::format("the shape {} leaves several extents open", to_string(extents)));
    }
    *open = 1;
    const std::int64_t others = Shape(extents).elements();
    if (x.shape.elements() % others != 0) throw misfit();
    *open = x.shape.elements() / others;
  }
  const Shape shape(extents);
  if (shape.elements() != x.shape.elements()) throw misfit();
  return {x.dtype, shape};
}

}  // namespace

OpKind reshape_op() {
  return {.name = "reshape",
          .summary = "the same values under the shape `shape`; an extent of -1 is computed",
          .inputs = 1,
          .attrs = {{.name = "shape", .fallback = Integers{}, .required = true, .value_min = -1}},
          .takes_integers = true,
          .type = reshape_type,
          .work = streaming<0>,
          .cpu = [](const CpuCall& call) { for_each_number<1>(call, [](auto x) { return x; }); }};
}

}  // namespace troupe
