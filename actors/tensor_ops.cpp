#include "actors/tensor_ops.hpp"

#include "actors/session/session_core.hpp"
#include "core/base/error.hpp"
#include "core/base/exact_double.hpp"
#include "core/ops/axis.hpp"
#include "core/ops/builtin.hpp"
#include "core/ops/registry.hpp"

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

template <OpKind (*kind)()>
OpKindId id_of() {
  static const OpKindId id = builtin_ops().find(kind().name);
  return id;
}

template <OpKind (*kind)(), class... Others>
Tensor call(const Argument& first, Attrs attrs, const Others&... others) {
  static_assert((std::is_same_v<Others, Tensor> && ...));
  TensorState* const inputs[] = {SessionCore::state_of(first.tensor),
                                 SessionCore::state_of(others)...};
  return call_op(id_of<kind>(), inputs, std::move(attrs), first.where);
}

// Not a list in place: for some lists of one, GCC 12 warns of uninitialised values.
Attrs one_attr(std::string_view name, Attr value) {
  Attrs attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

// The number as a tensor of one element, for ops with broadcasting. It has the element type of `x`,
// on whose session it is.
Tensor as_tensor(const Scalar& number, const Argument& x) {
  const DType dtype = x.tensor.type(x.where).dtype;  // throws if the handle is empty
  SessionCore& session = *SessionCore::state_of(x.tensor)->session;
  return constant_of(session, {.dtype = dtype, .shape = {}}, number.value, number.where);
}

TensorType type_for_mean(const Argument& x) {
  const TensorType type = x.tensor.type(x.where);
  if (!is_integer(type.dtype)) return type;
  throw usage_error(x.where.place(),
                    fmt::format("the mean of {} is no whole number", to_string(type)),
                    "make them floating-point numbers first: mean(cast(x, DType::f64), axis)");
}

Tensor over_all_axes(const Argument& x, Tensor (*over_last)(Argument)) {
  const std::size_t axes = x.tensor.shape(x.where).rank();
  if (axes == 0) return reshape(x, {1});
  Tensor part = x.tensor;
  for (std::size_t i = 0; i < axes; ++i) part = over_last(Argument(part, x.where));
  return part;
}

double as_double(std::integral auto given, CallSite line) {
  if (const std::optional<double> number = exact_double(given)) return *number;
  throw usage_error(line.place(), fmt::format("the number is {}", given),
                    "it must be a number that float64 holds exactly");
}

}  // namespace

double Scalar::exact(std::int64_t given, CallSite line) {
  return as_double(given, line);
}

double Scalar::exact(std::uint64_t given, CallSite line) {
  return as_double(given, line);
}

Tensor exp(Argument x) {
  return call<exp_op>(x, {});
}

Tensor log(Argument x) {
  return call<log_op>(x, {});
}

Tensor sqrt(Argument x) {
  return call<sqrt_op>(x, {});
}

Tensor sin(Argument x) {
  return call<sin_op>(x, {});
}

Tensor cos(Argument x) {
  return call<cos_op>(x, {});
}

Tensor tanh(Argument x) {
  return call<tanh_op>(x, {});
}

Tensor sigmoid(Argument x) {
  return call<sigmoid_op>(x, {});
}

Tensor pow(Argument x, Scalar exponent) {
  return call<pow_op>(x, one_attr("exponent", exponent.value));
}

Tensor abs(Argument x) {
  return call<abs_op>(x, {});
}

Tensor gelu(Argument x) {
  return call<gelu_op>(x, {});
}

Tensor relu(Argument x) {
  return call<relu_op>(x, {});
}

Tensor operator+(Argument a, const Tensor& b) {
  return call<add_op>(a, {}, b);
}

Tensor operator-(Argument a, const Tensor& b) {
  return call<sub_op>(a, {}, b);
}

Tensor operator*(Argument a, const Tensor& b) {
  return call<mul_op>(a, {}, b);
}

Tensor operator/(Argument a, const Tensor& b) {
  return call<div_op>(a, {}, b);
}

Tensor maximum(Argument a, const Tensor& b) {
  return call<maximum_op>(a, {}, b);
}

Tensor minimum(Argument a, const Tensor& b) {
  return call<minimum_op>(a, {}, b);
}

Answers operator>(Argument a, const Tensor& b) {
  return Answers(call<greater_op>(a, {}, b));
}

Answers operator<(Argument a, const Tensor& b) {
  return Argument(b, a.where) > a.tensor;
}

Answers operator>=(Argument a, const Tensor& b) {
  return Answers(call<greater_equal_op>(a, {}, b));
}

Answers operator<=(Argument a, const Tensor& b) {
  return Argument(b, a.where) >= a.tensor;
}

Answers equal(Argument a, const Tensor& b) {
  return Answers(call<equal_op>(a, {}, b));
}

Tensor where(Argument condition, const Tensor& a, const Tensor& b) {
  return call<where_op>(condition, {}, a, b);
}

Tensor maximum(Argument x, Scalar number) {
  return maximum(x, as_tensor(number, x));
}

Tensor minimum(Argument x, Scalar number) {
  return minimum(x, as_tensor(number, x));
}

Tensor maximum(Scalar number, Argument x) {
  return maximum(x, number);
}

Tensor minimum(Scalar number, Argument x) {
  return minimum(x, number);
}

Answers operator>(Argument x, Scalar number) {
  return x > as_tensor(number, x);
}

Answers operator<(Argument x, Scalar number) {
  return x < as_tensor(number, x);
}

Answers operator>=(Argument x, Scalar number) {
  return x >= as_tensor(number, x);
}

Answers operator<=(Argument x, Scalar number) {
  return x <= as_tensor(number, x);
}

Answers operator>(Scalar number, Argument x) {
  return x < number;
}

Answers operator<(Scalar number, Argument x) {
  return x > number;
}

Answers operator>=(Scalar number, Argument x) {
  return x <= number;
}

Answers operator<=(Scalar number, Argument x) {
  return x >= number;
}

Answers equal(Argument x, Scalar number) {
  return equal(x, as_tensor(number, x));
}

Tensor where(Argument condition, const Tensor& a, Scalar b) {
  return where(condition, a, as_tensor(b, condition));
}

Tensor where(Argument condition, Scalar a, const Tensor& b) {
  return where(condition, as_tensor(a, condition), b);
}

Tensor where(Argument condition, Scalar a, Scalar b) {
  return where(condition, as_tensor(a, condition), as_tensor(b, condition));
}

Tensor operator+(Argument x, Scalar number) {
  return call<scale_op>(x, {{"alpha", 1.0}, {"shift", number.value}});
}

Tensor operator+(Scalar number, Argument x) {
  return x + number;
}

Tensor operator-(Argument x, Scalar number) {
  return x + -number.value;
}

Tensor operator-(Scalar number, Argument x) {
  return call<scale_op>(x, {{"alpha", -1.0}, {"shift", number.value}});
}

Tensor operator*(Argument x, Scalar number) {
  return call<scale_op>(x, one_attr("alpha", number.value));
}

Tensor operator*(Scalar number, Argument x) {
  return x * number;
}

Tensor operator/(Argument x, Scalar number) {
  return call<scale_op>(x, {{"alpha", 1.0}, {"divisor", number.value}});
}

Tensor operator/(Scalar number, Argument x) {
  return call<reciprocal_op>(x, one_attr("numerator", number.value));
}

Tensor operator-(Argument x) {
  return x * -1;
}

Tensor& operator+=(Tensor& a, Argument b) {
  return a = Argument(a, b.where) + b.tensor;
}

Tensor& operator-=(Tensor& a, Argument b) {
  return a = Argument(a, b.where) - b.tensor;
}

Tensor& operator*=(Tensor& a, Argument b) {
  return a = Argument(a, b.where) * b.tensor;
}

Tensor& operator/=(Tensor& a, Argument b) {
  return a = Argument(a, b.where) / b.tensor;
}

Tensor& operator+=(Tensor& a, Scalar b) {
  return a = Argument(a, b.where) + b;
}

Tensor& operator-=(Tensor& a, Scalar b) {
  return a = Argument(a, b.where) - b;
}

Tensor& operator*=(Tensor& a, Scalar b) {
  return a = Argument(a, b.where) * b;
}

Tensor& operator/=(Tensor& a, Scalar b) {
  return a = Argument(a, b.where) / b;
}

Tensor axpy(Scalar alpha, Argument x, const Tensor& y) {
  return call<axpy_op>(x, one_attr("alpha", alpha.value), y);
}

Tensor relu_grad(Argument gradient, const Tensor& x) {
  return call<relu_grad_op>(gradient, {}, x);
}

Tensor sum(Argument x, Axis axis, bool keep) {
  return call<sum_op>(x, {{"axis", axis.value}, {"keep", keep}});
}

Tensor max(Argument x, Axis axis, bool keep) {
  return call<max_op>(x, {{"axis", axis.value}, {"keep", keep}});
}

Tensor min(Argument x, Axis axis, bool keep) {
  return call<min_op>(x, {{"axis", axis.value}, {"keep", keep}});
}

Tensor sum(Argument x) {
  return over_all_axes(x, [](Argument part) { return sum(part, -1); });
}

Tensor max(Argument x) {
  return over_all_axes(x, [](Argument part) { return max(part, -1); });
}

Tensor min(Argument x) {
  return over_all_axes(x, [](Argument part) { return min(part, -1); });
}

Tensor mean(Argument x) {
  const TensorType type = type_for_mean(x);
  return Argument(sum(x), x.where) / Scalar(type.shape.elements(), x.where);
}

Tensor mean(Argument x, Axis axis, bool keep) {
  const TensorType type = type_for_mean(x);
  const Tensor total = sum(x, axis, keep);
  const auto along = static_cast<std::size_t>(axis_from_start(axis.value, type.shape));
  return Argument(total, x.where) / Scalar(type.shape[along], x.where);
}

Tensor variance(Argument x, Axis axis, bool keep) {
  const Tensor apart = x - mean(x, axis, true);
  const Argument difference(apart, x.where);
  return mean(Argument(difference * apart, x.where), axis, keep);
}

Tensor argmax(Argument x, Axis axis, bool keep) {
  return call<argmax_op>(x, {{"axis", axis.value}, {"keep", keep}});
}

Tensor argmin(Argument x, Axis axis, bool keep) {
  return call<argmin_op>(x, {{"axis", axis.value}, {"keep", keep}});
}

Tensor softmax(Argument x) {
  return call<softmax_op>(x, {});
}

Tensor layer_norm(Argument x, const Tensor& gain, const Tensor& bias, double epsilon) {
  return call<layer_norm_op>(x, one_attr("epsilon", epsilon), gain, bias);
}

Tensor softmax_cross_entropy(Argument logits, const Tensor& labels) {
  return call<softmax_cross_entropy_op>(logits, {}, labels);
}

Tensor softmax_cross_entropy_grad(Argument logits, const Tensor& labels) {
  return call<softmax_cross_entropy_grad_op>(logits, {}, labels);
}

Tensor cast(Argument x, DType dtype) {
  return call<cast_op>(x, one_attr("dtype", std::string(to_string(dtype))));
}

Tensor reshape(Argument x, const Indices& shape) {
  return call<reshape_op>(x, one_attr("shape", shape.values));
}

Tensor transpose(Argument x, const Indices& axes) {
  return call<transpose_op>(x, one_attr("axes", axes.values));
}

Tensor slice(Argument x, const Indices& begin, const Indices& end) {
  return call<slice_op>(x, {{"begin", begin.values}, {"end", end.values}});
}

Tensor take(Argument x, const Tensor& numbers, Axis axis) {
  return call<take_op>(x, one_attr("axis", axis.value), numbers);
}

Tensor index_add(Argument x, const Tensor& numbers, const Tensor& added, Axis axis) {
  return call<index_add_op>(x, one_attr("axis", axis.value), numbers, added);
}

Tensor concat(const std::vector<Tensor>& inputs, Axis axis, CallSite where) {
  std::vector<TensorState*> states;
  states.reserve(inputs.size());
  for (const Tensor& input : inputs) states.push_back(SessionCore::state_of(input));
  return call_op(id_of<concat_op>(), states, one_attr("axis", axis.value), where);
}

Tensor stack(const std::vector<Tensor>& inputs, Axis axis, CallSite where) {
  std::vector<Tensor> slices;
  slices.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    const Shape& shape = input.type(where).shape;
    const auto rank = static_cast<std::int64_t>(shape.rank()) + 1;
    const std::int64_t place = axis.value < 0 ? axis.value + rank : axis.value;
    if (place < 0 || place >= rank) {
      throw usage_error(where.place(), fmt::format("the result has no axis {}", axis.value),
                        fmt::format("it has {} axes: one more than each tensor", rank));
    }
    const std::span<const std::int64_t> given = shape.extents();
    Integers extents(given.begin(), given.end());
    extents.insert(extents.begin() + place, 1);
    slices.push_back(reshape(Argument(input, where), extents));
  }
  return concat(slices, axis, where);
}

Tensor matmul(Argument a, const Tensor& b, bool transpose_a, bool transpose_b) {
  // Without a list of attributes, small products are called in less time.
  if (!transpose_a && !transpose_b) return call<matmul_op>(a, {}, b);
  return call<matmul_op>(a, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}, b);
}

Tensor gemm(Argument a, const Tensor& b, const Tensor& c, GemmOptions options) {
  return call<gemm_op>(a,
                       {{"transpose_a", options.transpose_a},
                        {"transpose_b", options.transpose_b},
                        {"alpha", options.alpha},
                        {"beta", options.beta}},
                       b, c);
}

Tensor syrk(Argument a, const Tensor& c, SyrkOptions options) {
  return call<syrk_op>(
      a, {{"transpose", options.transpose}, {"alpha", options.alpha}, {"beta", options.beta}}, c);
}

Tensor trsm(Argument l, const Tensor& b, TrsmOptions options) {
  return call<trsm_op>(l,
                       {{"side", std::string(options.side == Side::left ? "left" : "right")},
                        {"transpose", options.transpose},
                        {"alpha", options.alpha}},
                       b);
}

Tensor potrf(Argument a) {
  return call<potrf_op>(a, {});
}

}  // namespace troupe
