// cast: the same numbers as elements of another type. A floating-point number becomes an integer
// without its digits after the point; beyond the range of the integers it becomes their nearest
// end, and a NaN becomes 0. What becomes a floating-point number is rounded to the nearest one, and
// is infinite beyond their range. Of an int64, an int32 has the lower half.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"

#include <algorithm>

namespace troupe {
namespace {

TensorType cast_type(const OpSignature& op) {
  const auto name =
      std::find(dtype_names.begin(), dtype_names.end(), op.attrs.get<std::string>("dtype"));
  return {static_cast<DType>(name - dtype_names.begin()), op.inputs[0].shape};
}

void cast_kernel(const CpuCall& call) {
  with_number(call.inputs[0].type.dtype, [&](auto from) {
    with_number(call.output.type.dtype, [&](auto to) {
      for_each_of_type<decltype(to), 1, decltype(from)>(call, Cast<decltype(to)>{});
    });
  });
}

}  // namespace

OpKind cast_op() {
  return {.name = "cast",
          .summary = "the same numbers as elements of the type `dtype`",
          .inputs = 1,
          .attrs = {{.name = "dtype",
                     .fallback = std::string(dtype_names[0]),
                     .required = true,
                     .choices = {dtype_names.begin(), dtype_names.end()}}},
          .takes_integers = true,
          .type = cast_type,
          .cpu = cast_kernel};
}

}  // namespace troupe
