// Loops over a box of elements that lie apart in memory by other steps in each of several tensors:
// a part of a tensor, its axes in another order, or one value read many times.
#pragma once

#include "core/ops/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace troupe {

// Rows of fewer elements take longer to begin than to go through.
constexpr std::int64_t row_length_min = 4;

// So many of each operand fit into the nearest cache.
constexpr std::int64_t cached_elements = 2048;

// How many elements apart neighbours along each axis are. 0: the same element is read again.
using Strides = std::array<std::int64_t, Shape::max_rank>;

// Of a whole tensor.
inline Strides strides_of(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (std::size_t d = shape.rank(); d-- > 0; step *= shape[d]) strides[d] = step;
  return strides;
}

// The elements of n operands at the same places of a box. Axes of extent 1 are left out, but for
// one if there is no other, and axes that lie in memory as one axis does, in all operands, are one.
// Kernels of GPUs get a copy.
template <std::size_t n>
class StridedBox {
 public:
  StridedBox(const Shape& extents, const std::array<Strides, n>& strides) {
    for (std::size_t d = 0; d < extents.rank(); ++d) {
      if (extents[d] > 1) append(extents[d], strides, d);
    }
    if (rank_ > 0) return;
    rank_ = extents_[0] = 1;
    for (Strides& own : strides_) own[0] = 1;
  }

  constexpr std::size_t rank() const { return rank_; }
  constexpr std::int64_t extent(std::size_t axis) const { return extents_[axis]; }
  constexpr std::int64_t stride(std::size_t operand, std::size_t axis) const {
    return strides_[operand][axis];
  }
  // Of the last axis.
  constexpr std::int64_t length() const { return extents_[rank_ - 1]; }
  constexpr std::int64_t step(std::size_t operand) const { return strides_[operand][rank_ - 1]; }
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

// Some rows of elements in each of n operands: a part of a box along two of its axes.
template <std::size_t n>
struct StridedRows {
  std::array<std::int64_t, n> first{};     // the index of the first row's first element
  std::array<std::int64_t, n> step{};      // from one element of a row to the next
  std::array<std::int64_t, n> row_step{};  // from one row to the next
  std::int64_t length = 1;                 // of each row
  std::int64_t rows = 1;
};

// Goes through all places along some axes of a box, the last axis fastest. After the last place the
// first comes again. The box must live as long.
template <std::size_t n>
class AxisCounter {
 public:
  explicit AxisCounter(const StridedBox<n>& box) : box_(box) {}
  void append(std::size_t axis) {
    axes_[count_++] = axis;
    places_ *= box_.extent(axis);
  }
  // The last axis, which it no longer has.
  std::size_t take_last() {
    const std::size_t axis = axes_[--count_];
    places_ /= box_.extent(axis);
    return axis;
  }
  bool empty() const { return count_ == 0; }
  std::int64_t places() const { return places_; }

  void go_to(std::int64_t place) {  // divides, unlike next()
    offsets_ = {};
    for (std::size_t i = count_; i-- > 0; place /= box_.extent(axes_[i])) {
      index_[i] = place % box_.extent(axes_[i]);
      for (std::size_t k = 0; k < n; ++k) offsets_[k] += index_[i] * box_.stride(k, axes_[i]);
    }
  }
  void next() {
    for (std::size_t i = count_; i-- > 0; index_[i] = 0) {
      const std::size_t d = axes_[i];
      for (std::size_t k = 0; k < n; ++k) offsets_[k] += box_.stride(k, d);
      if (++index_[i] < box_.extent(d)) return;
      for (std::size_t k = 0; k < n; ++k) offsets_[k] -= box_.extent(d) * box_.stride(k, d);
    }
  }
  std::int64_t offset(std::size_t operand) const { return offsets_[operand]; }

 private:
  const StridedBox<n>& box_;
  std::array<std::size_t, Shape::max_rank> axes_{};
  std::size_t count_ = 0;
  std::int64_t places_ = 1;
  std::array<std::int64_t, Shape::max_rank> index_{};
  std::array<std::int64_t, n> offsets_{};
};

// How a box is cut into parts of rows. It depends on the box alone. A part is some rows along one
// axis, for each place along the axes that are short and lie between the elements of a row.
template <std::size_t n>
class RowParts {
 public:
  explicit RowParts(const StridedBox<n>& box) : outside_(box), between_(box) {
    const std::size_t along = row_axis(box);
    for (std::size_t d = 0; d < box.rank(); ++d) {
      if (d == along) continue;
      const bool has_room = between_.places() * box.extent(d) * few <= cached_elements;
      (has_room && lies_between(box, d, along) ? between_ : outside_).append(d);
    }
    length_ = box.extent(along);
    length_max_ =
        std::min(length_, between_.empty() ? block_elements : cached_elements / between_.places());
    AxisCounter<n>& across = between_.empty() ? outside_ : between_;
    if (!across.empty()) {
      const std::size_t d = across.take_last();
      rows_ = box.extent(d);
      for (std::size_t k = 0; k < n; ++k) part_.row_step[k] = box.stride(k, d);
    }
    for (std::size_t k = 0; k < n; ++k) part_.step[k] = box.stride(k, along);
    rows_max_ = std::min(rows_, std::max<std::int64_t>(1, block_elements / length_max_));
  }

  std::int64_t count() const { return outside_.places() * row_parts() * length_parts(); }
  // Of a part.
  std::int64_t elements() const { return between_.places() * rows_max_ * length_max_; }

  // Calls f(rows) for all rows of these parts.
  template <class F>
  void for_each(std::int64_t begin, std::int64_t end, const F& f) const {
    AxisCounter<n> outside = outside_;
    AxisCounter<n> between = between_;
    outside.go_to(begin / length_parts() / row_parts());
    std::int64_t first_row = begin / length_parts() % row_parts() * rows_max_;
    std::int64_t first = begin % length_parts() * length_max_;
    StridedRows<n> part = part_;
    for (std::int64_t i = begin; i < end; ++i) {
      part.length = std::min(length_max_, length_ - first);
      part.rows = std::min(rows_max_, rows_ - first_row);
      for (std::int64_t j = 0; j < between.places(); ++j, between.next()) {
        for (std::size_t k = 0; k < n; ++k) {
          part.first[k] = outside.offset(k) + between.offset(k) + first_row * part.row_step[k] +
                          first * part.step[k];
        }
        f(part);
      }
      first += part.length;
      if (first < length_) continue;
      first = 0;
      first_row += part.rows;
      if (first_row < rows_) continue;
      first_row = 0;
      outside.next();
    }
  }

 private:
  static constexpr std::int64_t few = 16;

  // The last axis along which rows aren't too short to be worth beginning, else the longest.
  static std::size_t row_axis(const StridedBox<n>& box) {
    std::size_t longest = 0;
    for (std::size_t d = box.rank(); d-- > 0;) {
      if (box.extent(d) >= row_length_min) return d;
      if (box.extent(d) > box.extent(longest)) longest = d;
    }
    return longest;
  }
  static bool lies_between(const StridedBox<n>& box, std::size_t axis, std::size_t along) {
    if (box.extent(axis) >= few) return false;
    for (std::size_t k = 0; k < n; ++k) {
      if (box.stride(k, axis) > 0 && box.stride(k, axis) < box.stride(k, along)) return true;
    }
    return false;
  }
  std::int64_t row_parts() const { return (rows_ + rows_max_ - 1) / rows_max_; }
  std::int64_t length_parts() const { return (length_ + length_max_ - 1) / length_max_; }

  AxisCounter<n> outside_;
  AxisCounter<n> between_;
  StridedRows<n> part_;
  std::int64_t length_ = 1;  // of all parts of a row together
  std::int64_t length_max_ = 1;
  std::int64_t rows_ = 1;  // of all parts together, at a place along the other axes
  std::int64_t rows_max_ = 1;
};

// Calls f(rows) on the team, for rows that cover the box. All have the same steps.
template <std::size_t n, class F>
void for_rows(Team& team, const StridedBox<n>& box, const F& f) {
  const RowParts<n> parts(box);
  for_row_blocks(team, parts.count(), parts.elements(),
                 [&](std::int64_t begin, std::int64_t end) { parts.for_each(begin, end, f); });
}

// Copies `length` elements that are `from_step` apart to places that are `to_step` apart. A loop of
// its own where one of the steps is 1: it can be vectorised.
template <class T>
void copy_row(const T* from, std::int64_t from_step, T* to, std::int64_t to_step,
              std::int64_t length) {
  if (from_step == 1 && to_step == 1) {
    for (std::int64_t i = 0; i < length; ++i) to[i] = from[i];
  } else if (from_step == 1) {
    for (std::int64_t i = 0; i < length; ++i) to[i * to_step] = from[i];
  } else if (to_step == 1) {
    for (std::int64_t i = 0; i < length; ++i) to[i] = from[i * from_step];
  } else {
    for (std::int64_t i = 0; i < length; ++i) to[i * to_step] = from[i * from_step];
  }
}

template <class T>
void copy_rows(const StridedRows<2>& rows, const T* from, T* to) {
  from += rows.first[0];
  to += rows.first[1];
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    copy_row(from, rows.step[0], to, rows.step[1], rows.length);
    from += rows.row_step[0];
    to += rows.row_step[1];
  }
}

// Copies the elements of a box, whose operands are where they come from and where they go.
template <class T>
void copy_box(Team& team, const StridedBox<2>& box, const T* from, T* to) {
  for_rows(team, box, [=](const StridedRows<2>& rows) { copy_rows(rows, from, to); });
}

}  // namespace troupe
