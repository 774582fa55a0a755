// layer_norm: each row along the last axis, shifted and scaled to mean 0 and variance 1, then
// multiplied by `gain` and shifted by `bias`, element by element (Ba, Kiros and Hinton, Layer
// Normalization, 2016). Inputs: x, gain and bias; the last two are vectors as long as a row.
#include "core/ops/builtin.hpp"
#include "core/ops/for_each_processor.hpp"
#include "core/ops/rows.hpp"

#include <cmath>
#include <functional>

#include <fmt/format.h>

namespace troupe {
namespace {

TensorType layer_norm_type(const OpSignature& op) {
  const TensorType& x = op.inputs[0];
  const TensorType vector{x.dtype, Shape{row_length(x.shape)}};
  if (op.inputs[1] != vector || op.inputs[2] != vector) {
    throw unfit_inputs(op.inputs, "the second and the third must be " + to_string(vector));
  }
  const auto epsilon = op.attrs.get<double>("epsilon");
  if (epsilon < 0 || !std::isfinite(epsilon)) {
    throw usage_error(fmt::format("'epsilon' of 'layer_norm' is {}", epsilon),
                      "give a number from 0 up");
  }
  return x;
}

// The variance is the mean of the squared distances from the mean, in a second pass: the mean of
// the squares minus the square of the mean would lose digits.
template <class T>
[[gnu::always_inline]] inline void normalise_row(const T* x, const T* gain, const T* bias,
                                                 T epsilon, T* out, std::int64_t length) {
  const T count = static_cast<T>(length);
  const T mean = sum_of(x, length) / count;
  const T squares =
      sum_values<T>(length, [=](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  const T factor = 1 / std::sqrt(squares / count + epsilon);
  for (std::int64_t i = 0; i < length; ++i) out[i] = (x[i] - mean) * factor * gain[i] + bias[i];
}
template <class T>
TROUPE_FOR_EACH_PROCESSOR void normalise_rows(const T* x, const T* gain, const T* bias, T epsilon,
                                              T* out, std::int64_t rows, std::int64_t length) {
  for (std::int64_t r = 0; r < rows; ++r, x += length, out += length) {
    normalise_row(x, gain, bias, epsilon, out, length);
  }
}

void layer_norm_kernel(const CpuCall& call) {
  const Shape& shape = call.output.type.shape;
  const std::int64_t length = row_length(shape);
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const gain = call.inputs[1].as<T>();
    const T* const bias = call.inputs[2].as<T>();
    const auto epsilon = static_cast<T>(call.attrs.get<double>("epsilon"));
    for_row_blocks_of(call.team, shape, [&](std::int64_t begin, std::int64_t end) {
      normalise_rows(call.inputs[0].as<T>() + begin * length, gain, bias, epsilon,
                     call.output.as<T>() + begin * length, end - begin, length);
    });
  });
}

}  // namespace

// Per element: 1 operation for the mean, 3 for the variance, 4 for the result.
OpKind layer_norm_op() {
  return {.name = "layer_norm",
          .summary = "rows of mean 0 and variance 1, times a gain plus a bias, of x, gain and bias",
          .inputs = 3,
          .attrs = {{.name = "epsilon", .fallback = 1e-5}},
          .type = layer_norm_type,
          .work = streaming<8>,
          .cpu = layer_norm_kernel};
}

}  // namespace troupe
