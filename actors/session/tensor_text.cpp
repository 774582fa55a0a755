#include "actors/session/tensor_text.hpp"

#include "core/ops/element_functions.hpp"
#include "core/ops/elementwise.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// As NumPy does it.
constexpr std::int64_t shown_at_each_end = 3;
constexpr std::int64_t elements_max = 1000;
// So that a row fits into a line of a terminal, mostly.
constexpr std::int64_t row_max = 20;

template <class T>
std::string element_text(T element) {
  if constexpr (std::floating_point<T>) {
    if (std::isnan(element)) return "nan";  // it has a sign, which differs between processors
    return fmt::format("{:.6g}", element);
  } else {
    return fmt::format("{}", element);
  }
}

template <class T>
class TensorText {
 public:
  TensorText(const Shape& shape, const T* elements) : shape_(shape), elements_(elements) {}

  std::string write() {
    for_elements(0, 0, [this](const T& element) {
      width_ = std::max(width_, element_text(value_of(element)).size());
    });
    append(0, 0);
    return std::move(text_);
  }

 private:
  bool is_shortened(std::size_t axis) const {
    if (shape_[axis] <= 2 * shown_at_each_end) return false;
    const bool is_row = axis + 1 == shape_.rank();
    return shape_.elements() > elements_max || (is_row && shape_[axis] > row_max);
  }

  // Calls show(i) for the places along the axis that are shown, and leave_out() between them.
  template <class Show, class LeaveOut>
  void go_along(std::size_t axis, const Show& show, const LeaveOut& leave_out) const {
    const std::int64_t extent = shape_[axis];
    for (std::int64_t i = 0; i < extent; ++i) {
      if (i == shown_at_each_end && is_shortened(axis)) {
        leave_out();
        i = extent - shown_at_each_end;
      }
      show(i);
    }
  }

  // `block`: the place of a block of all further axes, among the blocks of its size.
  template <class F>
  void for_elements(std::size_t axis, std::int64_t block, const F& f) const {
    if (axis == shape_.rank()) return f(elements_[block]);
    go_along(
        axis, [&](std::int64_t i) { for_elements(axis + 1, block * shape_[axis] + i, f); }, [] {});
  }

  void append(std::size_t axis, std::int64_t block) {
    if (axis == shape_.rank()) {
      text_ += fmt::format("{:>{}}", element_text(value_of(elements_[block])), width_);
      return;
    }
    // Rows begin below each other, with empty lines between what has several.
    const std::size_t lines = shape_.rank() - 1 - axis;
    const std::string gap =
        lines == 0 ? " " : std::string(lines, '\n') + std::string(axis + 1, ' ');
    bool is_first = true;
    const auto separate = [&] {
      if (!is_first) text_ += gap;
      is_first = false;
    };
    text_ += '[';
    go_along(
        axis,
        [&](std::int64_t i) {
          separate();
          append(axis + 1, block * shape_[axis] + i);
        },
        [&] {
          separate();
          text_ += "...";
        });
    text_ += ']';
  }

  const Shape& shape_;
  const T* const elements_;
  std::size_t width_ = 0;
  std::string text_;
};

}  // namespace

std::string tensor_text(const TensorType& type, std::span<const std::byte> values) {
  std::string text;
  with_number(type.dtype, [&](auto element) {
    using T = decltype(element);
    text = TensorText<T>(type.shape, reinterpret_cast<const T*>(values.data())).write();
  });
  return text;
}

}  // namespace troupe
