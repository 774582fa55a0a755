// reciprocal, exp, log, sqrt, sin, cos, tanh, sigmoid, gelu, pow and abs, element by element. A
// call of such a function counts as one operation.
#include "core/ops/builtin.hpp"
#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"
#include "core/ops/vector_math.hpp"

#include <type_traits>

namespace troupe {
namespace {

// Calls f(x, out, count) for parts of the input and of the output, on the team.
template <class F>
void for_each_part(const CpuCall& call, const F& f) {
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const x = call.inputs[0].as<T>();
    T* const out = call.output.as<T>();
    for_blocks(
        call.team, call.output.type.shape.elements(),
        [&](std::int64_t begin, std::int64_t end) { f(x + begin, out + begin, end - begin); });
  });
}

}  // namespace

OpKind reciprocal_op() {
  return {.name = "reciprocal",
          .summary = "numerator / x, element by element",
          .inputs = 1,
          .attrs = {{.name = "numerator", .fallback = 1.0}},
          .in_place_of = 0,
          .cpu = [](const CpuCall& call) {
            for_each_element<1>(call, Reciprocal{call.attrs.get<double>("numerator")});
          }};
}

OpKind exp_op() {
  return {.name = "exp",
          .summary = "e to the power of x, element by element",
          .inputs = 1,
          .cpu = [](const CpuCall& call) {
            for_each_part(call,
                          [](auto* x, auto* out, auto count) { exp_each(x, {0}, out, count); });
          }};
}

OpKind log_op() {
  return {.name = "log",
          .summary = "the natural logarithm of x, element by element",
          .inputs = 1,
          .cpu = [](const CpuCall& call) {
            for_each_part(call, [](auto* x, auto* out, auto count) { log_each(x, out, count); });
          }};
}

OpKind sqrt_op() {
  return {.name = "sqrt",
          .summary = "the square root of x, element by element",
          .inputs = 1,
          .in_place_of = 0,
          .cpu = [](const CpuCall& call) { for_each_element<1>(call, Sqrt{}); }};
}

OpKind sin_op() {
  return {.name = "sin",
          .summary = "the sine of x, an angle in radians, element by element",
          .inputs = 1,
          .cpu = [](const CpuCall& call) {
            for_each_part(call, [](auto* x, auto* out, auto count) { sin_each(x, out, count); });
          }};
}

OpKind cos_op() {
  return {.name = "cos",
          .summary = "the cosine of x, an angle in radians, element by element",
          .inputs = 1,
          .cpu = [](const CpuCall& call) {
            for_each_part(call, [](auto* x, auto* out, auto count) { cos_each(x, out, count); });
          }};
}

OpKind sigmoid_op() {
  return {.name = "sigmoid",
          .summary = "1 / (1 + e to the power of -x), element by element",
          .inputs = 1,
          .work = streaming<4>,
          .cpu = [](const CpuCall& call) {
            for_each_part(call,
                          [](auto* x, auto* out, auto count) { sigmoid_each(x, out, count); });
          }};
}

OpKind tanh_op() {
  return {.name = "tanh",
          .summary = "the hyperbolic tangent of x, element by element",
          .inputs = 1,
          .cpu = [](const CpuCall& call) {
            for_each_part(call, [](auto* x, auto* out, auto count) { tanh_each(x, out, count); });
          }};
}

// To the power of 2, x x.
OpKind pow_op() {
  return {.name = "pow",
          .summary = "x to the power of `exponent`, element by element",
          .inputs = 1,
          .attrs = {{.name = "exponent", .fallback = 1.0, .required = true}},
          .cpu = [](const CpuCall& call) {
            const auto exponent = call.attrs.get<double>("exponent");
            if (exponent == 2) return for_each_element<1>(call, Square{});
            for_each_part(call, [=](auto* x, auto* out, auto count) {
              pow_each(x, static_cast<std::remove_pointer_t<decltype(out)>>(exponent), out, count);
            });
          }};
}

OpKind abs_op() {
  return {.name = "abs",
          .summary = "x without its sign, element by element",
          .inputs = 1,
          .takes_integers = true,
          .in_place_of = 0,
          .cpu = [](const CpuCall& call) { for_each_number<1>(call, Abs{}); }};
}

// x Φ(x), where Φ is the distribution function of the normal distribution (Hendrycks and Gimpel,
// Gaussian Error Linear Units, 2016), not the approximation by tanh.
OpKind gelu_op() {
  return {.name = "gelu",
          .summary = "x times the share of a normal distribution below x, element by element",
          .inputs = 1,
          .work = streaming<5>,
          .cpu = [](const CpuCall& call) {
            for_each_part(call, [](auto* x, auto* out, auto count) { gelu_each(x, out, count); });
          }};
}

}  // namespace troupe
