// add, sub, mul, div, maximum, minimum, greater, greater_equal and equal: a ∘ b, element by
// element. The shapes may differ as NumPy's broadcasting allows: aligned at the last axis, each
// extent equals the other one, or one of the two is 1 or missing, and is repeated. So `add` of a
// matrix and a vector adds the vector to each row. Integers that are too large wrap around, as in
// NumPy; div doesn't take any.
#include "core/ops/builtin.hpp"
#include "core/ops/layout.hpp"
#include "core/ops/reduction.hpp"

#include <array>
#include <cstdint>
#include <functional>

namespace troupe {
namespace {

// A loop of its own for each of the usual steps: it can be vectorised.
template <class T, class F>
void apply_row(const std::array<std::int64_t, 3>& steps, const T* a, const T* b, T* out,
               std::int64_t length, const F& f) {
  const auto [a_step, b_step, out_step] = steps;
  if (out_step == 1 && a_step == 0 && b_step == 1) {
    const T x = *a;
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(x, b[i]);
  } else if (out_step == 1 && a_step == 1 && b_step == 0) {
    const T y = *b;
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(a[i], y);
  } else if (out_step == 1 && a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(a[i], b[i]);
  } else if (b_step == 0) {
    const T y = *b;
    for (std::int64_t i = 0; i < length; ++i) out[i * out_step] = f(a[i * a_step], y);
  } else if (a_step == 0) {
    const T x = *a;
    for (std::int64_t i = 0; i < length; ++i) out[i * out_step] = f(x, b[i * b_step]);
  } else {
    for (std::int64_t i = 0; i < length; ++i) out[i * out_step] = f(a[i * a_step], b[i * b_step]);
  }
}

template <class T, class F>
void apply_rows(const StridedRows<3>& rows, const T* a, const T* b, T* out, const F& f) {
  a += rows.first[0];
  b += rows.first[1];
  out += rows.first[2];
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    apply_row(rows.step, a, b, out, rows.length, f);
    a += rows.row_step[0];
    b += rows.row_step[1];
    out += rows.row_step[2];
  }
}

template <template <class> class Operation, bool takes_integers>
void arithmetic_kernel(const CpuCall& call) {
  with_type<takes_integers>(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const Operation<T> apply;
    // Without setting up a box, small ops take a quarter of the time.
    if (call.inputs[0].type == call.inputs[1].type) return for_each_of_type<T, 2>(call, apply);
    const StridedBox<3> box =
        broadcast_box(call.inputs[0].type.shape, call.inputs[1].type.shape, call.output.type.shape);
    for_rows(call.team, box, [&](const StridedRows<3>& rows) {
      apply_rows(rows, call.inputs[0].as<T>(), call.inputs[1].as<T>(), call.output.as<T>(), apply);
    });
  });
}

template <template <class> class Operation, bool takes_integers = true>
OpKind binary_op(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .inputs = 2,
          .takes_integers = takes_integers,
          .in_place_of = 0,
          .type = broadcast_type,
          .cpu = arithmetic_kernel<Operation, takes_integers>};
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
OpKind div_op() {
  return binary_op<std::divides, false>("div", "a / b, element by element");
}
OpKind maximum_op() {
  return binary_op<Max>("maximum", "the larger of a and b, element by element");
}
OpKind minimum_op() {
  return binary_op<Min>("minimum", "the smaller of a and b, element by element");
}

OpKind greater_op() {
  return binary_op<Greater>("greater", "1 where a > b, else 0");
}
OpKind greater_equal_op() {
  return binary_op<GreaterEqual>("greater_equal", "1 where a >= b, else 0");
}
OpKind equal_op() {
  return binary_op<Equal>("equal", "1 where a = b, else 0");
}

}  // namespace troupe
