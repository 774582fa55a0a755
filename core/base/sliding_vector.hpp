// A sequence that grows at its end and drops elements at its beginning. Indices don't change.
#pragma once

#include "core/base/big_vector.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

// An element's index counts all elements ever appended before it, and stays the same until the
// element is dropped (forgotten). Elements are contiguous. The capacity is at most a few times the
// largest number of elements held at once. References are valid until the next non-const call.
template <class T>
class SlidingVector {
 public:
  // One past the last index: the number of elements ever appended.
  std::size_t size() const { return start_ + elements_.size(); }
  // The oldest index held, or size() if none is held.
  std::size_t first() const { return first_; }
  bool holds(std::size_t index) const { return index - first_ < size() - first_; }
  // Room for the elements held and for forgotten elements that are still in memory.
  std::size_t capacity() const { return elements_.capacity(); }

  // `index` must be held. Not checked.
  T& operator[](std::size_t index) { return elements_[index - start_]; }
  const T& operator[](std::size_t index) const { return elements_[index - start_]; }
  T& back() { return elements_.back(); }
  // Iterators over the elements held.
  auto begin() const { return elements_.begin() + static_cast<std::ptrdiff_t>(first_ - start_); }
  auto end() const { return elements_.end(); }
  std::span<const T> slice(std::size_t index, std::size_t count) const {
    return {elements_.data() + (index - start_), count};
  }

  void push_back(T value) { elements_.push_back(std::move(value)); }
  T& emplace_back() { return elements_.emplace_back(); }
  // Appends copies of `value` until size() is `size`.
  void grow_to(std::size_t size, const T& value) {
    if (size <= this->size()) return;
    reserve(size - this->size());
    elements_.resize(size - start_, value);
  }
  // `values` may be a slice of this sequence.
  void append(std::span<const T> values) {
    std::vector<T> copied;
    if (values.size() > elements_.capacity() - elements_.size()) {
      copied.assign(values.begin(), values.end());
      values = copied;
    }
    elements_.insert(elements_.end(), values.begin(), values.end());
  }
  bool has_room(std::size_t more) const { return more <= elements_.capacity() - elements_.size(); }
  // Reserves memory for `more` elements. Amortised O(1) per element, even in many small calls.
  void reserve(std::size_t more) {
    if (has_room(more)) return;
    elements_.reserve(std::max(elements_.size() + more, 2 * elements_.capacity()));
  }
  // The memory that is reserved and not filled yet.
  std::span<const std::byte> unfilled() const { return troupe::unfilled(elements_); }

  // Drops the elements from `size` on, which must be at least first().
  void shrink_to(std::size_t size) { elements_.resize(size - start_); }

  // Sets the index of the next element. No element may be held.
  void start_at(std::size_t index) {
    elements_.clear();
    start_ = first_ = index;
  }

  // Forgets the elements before `index`, which must be at most size(). Does nothing if they are
  // already forgotten. Amortised O(1).
  void forget_before(std::size_t index) {
    if (index <= first_) return;
    first_ = index;
    constexpr std::size_t erase_min = 64;
    const std::size_t dropped = first_ - start_;
    // Erases only if that moves at most as many elements as it removes.
    if (dropped < erase_min || 2 * dropped < elements_.size()) return;
    elements_.erase(elements_.begin(), elements_.begin() + static_cast<std::ptrdiff_t>(dropped));
    start_ = first_;
  }

 private:
  BigVector<T> elements_;
  std::size_t start_ = 0;  // the index of elements_[0]
  std::size_t first_ = 0;
};

// The first index from `oldest` on whose lower 32 bits are `lower_half`. With fewer than 2^32
// elements held, the lower half of an index identifies it.
constexpr std::size_t index_from(std::size_t oldest, std::uint32_t lower_half) {
  return oldest + static_cast<std::uint32_t>(lower_half - oldest);
}

}  // namespace troupe
