// Loops over a box of elements that lie apart in memory by other steps in each of several tensors:
// a part of a tensor, its axes in another order, or one value read many times.
#pragma once

#include "core/ops/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace troupe {

// How many elements apart neighbours along each axis are. 0: the same element is read again.
using Strides = std::array<std::int64_t, Shape::max_rank>;

// Of a whole tensor.
inline Strides strides_of(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (std::size_t d = shape.rank(); d-- > 0; step *= shape[d]) strides[d] = step;
  return strides;
}

// The elements of n operands at the same places of a box. Axes of extent 1 are left out, and axes
// that lie in memory as one axis does, in all operands, are one. Kernels of GPUs get a copy.
template <std::size_t n>
class StridedBox {
 public:
  StridedBox(const Shape& extents, const std::array<Strides, n>& strides) {
    for (std::size_t d = 0; d < extents.rank(); ++d) {
      if (extents[d] > 1) append(extents[d], strides, d);
    }
  }

  constexpr std::size_t rank() const { return rank_; }
  constexpr std::int64_t extent(std::size_t axis) const { return extents_[axis]; }
  constexpr std::int64_t stride(std::size_t operand, std::size_t axis) const {
    return strides_[operand][axis];
  }
  // Of the last axis.
  constexpr std::int64_t length() const { return rank_ == 0 ? 1 : extents_[rank_ - 1]; }
  constexpr std::int64_t step(std::size_t operand) const {
    return rank_ == 0 ? 1 : strides_[operand][rank_ - 1];
  }
  // The product of all extents but those of the last axis.
  constexpr std::int64_t rows() const {
    std::int64_t product = 1;
    for (std::size_t d = 0; d + 1 < rank_; ++d) product *= extents_[d];
    return product;
  }

  // Where a row begins, in each operand.
  constexpr std::array<std::int64_t, n> offsets(std::int64_t row) const {
    std::array<std::int64_t, n> result{};
    if (rank_ < 2) return result;
    for (std::size_t d = rank_ - 2; d > 0; --d) {
      const std::int64_t extent = extents_[d];
      for (std::size_t k = 0; k < n; ++k) result[k] += row % extent * strides_[k][d];
      row /= extent;
    }
    for (std::size_t k = 0; k < n; ++k) result[k] += row * strides_[k][0];
    return result;
  }

 private:
  void append(std::int64_t extent, const std::array<Strides, n>& strides, std::size_t d) {
    bool continues = rank_ > 0;
    for (std::size_t k = 0; k < n && continues; ++k) {
      continues = strides_[k][rank_ - 1] == strides[k][d] * extent;
    }
    if (!continues) extents_[rank_++] = 1;
    extents_[rank_ - 1] *= extent;
    for (std::size_t k = 0; k < n; ++k) strides_[k][rank_ - 1] = strides[k][d];
  }

  std::size_t rank_ = 0;
  std::array<std::int64_t, Shape::max_rank> extents_{};
  std::array<Strides, n> strides_{};
};

// Calls f(offsets, length) on the team, for parts of rows that cover the box. `offsets` says where
// the part begins in each operand. The parts depend on the box alone.
template <std::size_t n, class F>
void for_rows(Team& team, const StridedBox<n>& box, const F& f) {
  const std::int64_t part = std::min(box.length(), block_elements);
  const std::int64_t parts = (box.length() + part - 1) / part;  // of a row
  for_row_blocks(team, box.rows() * parts, part, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::array<std::int64_t, n> offsets = box.offsets(i / parts);
      const std::int64_t first = i % parts * part;
      for (std::size_t k = 0; k < n; ++k) offsets[k] += first * box.step(k);
      f(offsets, std::min(part, box.length() - first));
    }
  });
}

// Copies `length` elements that are `from_step` apart to places that are `to_step` apart.
template <class T>
void copy_row(const T* from, std::int64_t from_step, T* to, std::int64_t to_step,
              std::int64_t length) {
  if (from_step == 1 && to_step == 1) {
    std::copy_n(from, length, to);
  } else {
    for (std::int64_t i = 0; i < length; ++i) to[i * to_step] = from[i * from_step];
  }
}

}  // namespace troupe
