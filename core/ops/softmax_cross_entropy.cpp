// softmax_cross_entropy: how far predictions are from the true classes, as a loss for training, and
// its gradient by the predictions.
//
// Inputs: logits [n, classes], and labels [n] of the same element type, each the number of a class
// from 0. The loss is the mean over the rows of -log(softmax(logits)[label]), a tensor [1]. The
// gradient is (softmax(logits) - 1 at the label, 0 elsewhere) / n (Goodfellow, Bengio and
// Courville, Deep Learning, 2016, 6.2.2.3).
#include "core/ops/builtin.hpp"
#include "core/ops/rows.hpp"
#include "core/ops/vector_math.hpp"

#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

void check_inputs(const OpSignature& op) {
  const TensorType& logits = op.inputs[0];
  const TensorType& labels = op.inputs[1];
  if (logits.dtype != labels.dtype) {
    throw unfit_inputs(op.inputs, "both must have the same element type");
  }
  if (logits.shape.rank() != 2 || labels.shape != Shape{logits.shape[0]}) {
    throw unfit_inputs(op.inputs,
                       "the first must have a row for each element of the second, with a number "
                       "for each class");
  }
}

// The class of each row.
template <class T>
std::vector<std::int64_t> labels_of(const CpuCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  std::vector<std::int64_t> labels;
  labels.reserve(static_cast<std::size_t>(shape[0]));
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    const T label = call.inputs[1].as<T>()[row];
    const bool is_class = label >= 0 && label < static_cast<T>(shape[1]) &&
                          label == static_cast<T>(static_cast<std::int64_t>(label));
    if (!is_class) {
      throw run_error(fmt::format("the label of row {} is {}", row, label),
                      fmt::format("labels are whole numbers from 0 to {}", shape[1] - 1));
    }
    labels.push_back(static_cast<std::int64_t>(label));
  }
  return labels;
}

void loss(const CpuCall& call) {
  const Shape& shape = call.inputs[0].type.shape;
  const std::int64_t classes = shape[1];
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const std::vector<std::int64_t> labels = labels_of<T>(call);
    std::vector<T> losses(labels.size());
    for_row_blocks_of(call.team, shape, [&](std::int64_t begin, std::int64_t end) {
      const T* const x = call.inputs[0].as<T>();
      std::vector<T> maxima(static_cast<std::size_t>(end - begin));
      T* const sums = losses.data() + begin;
      exp_sums(x + begin * classes, maxima.data(), sums, end - begin, classes);
      log_each(sums, sums, end - begin);
      for (std::int64_t row = begin; row < end; ++row) {
        const T at_label = x[row * classes + labels[static_cast<std::size_t>(row)]];
        losses[static_cast<std::size_t>(row)] +=
            maxima[static_cast<std::size_t>(row - begin)] - at_label;
      }
    });
    double sum = 0;
    for (const T l : losses) sum += static_cast<double>(l);
    *call.output.as<T>() = static_cast<T>(sum / static_cast<double>(shape[0]));
  });
}

void gradient(const CpuCall& call) {
  const Shape& shape = call.output.type.shape;
  const std::int64_t classes = shape[1];
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const std::vector<std::int64_t> labels = labels_of<T>(call);
    const T rows = static_cast<T>(shape[0]);
    for_row_blocks_of(call.team, shape, [&](std::int64_t begin, std::int64_t end) {
      T* const out = call.output.as<T>();
      softmax_rows(call.inputs[0].as<T>() + begin * classes, rows, out + begin * classes,
                   end - begin, classes);
      for (std::int64_t row = begin; row < end; ++row) {
        out[row * classes + labels[static_cast<std::size_t>(row)]] -= 1 / rows;
      }
    });
  });
}

}  // namespace

// Per logit: a comparison, a subtraction, a call of exp and an addition.
OpKind softmax_cross_entropy_op() {
  return {.name = "softmax_cross_entropy",
          .summary = "the mean loss of logits, a row for each sample, and numbers of classes",
          .inputs = 2,
          .type =
              [](const OpSignature& op) {
                check_inputs(op);
                return TensorType{op.inputs[0].dtype, Shape{1}};
              },
          .work =
              [](const OpSignature& op, const TensorType& output) {
                Work work = streaming_work(op, output, 0);
                work.flops = 4 * static_cast<double>(op.inputs[0].shape.elements());
                return work;
              },
          .cpu = loss};
}

// And a division.
OpKind softmax_cross_entropy_grad_op() {
  return {.name = "softmax_cross_entropy_grad",
          .summary = "the gradient of softmax_cross_entropy by the logits, of the same inputs",
          .inputs = 2,
          .type =
              [](const OpSignature& op) {
                check_inputs(op);
                return op.inputs[0];
              },
          .work = streaming<5>,
          .cpu = gradient};
}

}  // namespace troupe
