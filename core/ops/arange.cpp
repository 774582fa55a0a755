// arange: the numbers from 0 on, in row-major order.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"

#include <limits>

#include <fmt/format.h>

namespace troupe {
namespace {

TensorType arange_type(const OpSignature& op) {
  constexpr std::int64_t int32_max = std::numeric_limits<std::int32_t>::max();
  const TensorType type = common_type(op);
  if (type.dtype == DType::i32 && type.shape.elements() - 1 > int32_max) {
    throw usage_error(fmt::format("{} would have numbers beyond int32", to_string(type)),
                      "make it int64");
  }
  return type;
}

void arange_kernel(const CpuCall& call) {
  with_number(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    T* const out = call.output.as<T>();
    for_blocks(call.team, call.output.type.shape.elements(),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) out[i] = Counting<T>{}(i);
               });
  });
}

}  // namespace

OpKind arange_op() {
  return {.name = "arange",
          .summary = "0, 1, 2, …, rounded to the element type",
          .declares_type = true,
          .takes_integers = true,
          .type = arange_type,
          .work = streaming<0>,
          .cpu = arange_kernel};
}

}  // namespace troupe
