// A sequence that grows at its end and is forgotten from its beginning, with indices that stay.
#pragma once

#include "core/base/big_vector.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

// Elements are counted from the first one that there ever was: element i is [i] until it is
// forgotten. Lies in one piece of memory, which grows to at most a few times what was kept at once,
// however many elements come and go. References last until the next call that isn't const.
template <class T>
class SlidingVector {
 public:
  // One past the last index: elements ever appended.
  std::size_t size() const { return start_ + elements_.size(); }
  // The oldest index that is kept; size() where there is none.
  std::size_t first() const { return first_; }
  bool holds(std::size_t index) const { return index - first_ < size() - first_; }
  // Room for elements kept, and for forgotten ones that are in memory still.
  std::size_t capacity() const { return elements_.capacity(); }

  // The index must be held; this isn't checked.
  T& operator[](std::size_t index) { return elements_[index - start_]; }
  const T& operator[](std::size_t index) const { return elements_[index - start_]; }
  T& back() { return elements_.back(); }
  // Over what is held.
  auto begin() const { return elements_.begin() + static_cast<std::ptrdiff_t>(first_ - start_); }
  auto end() const { return elements_.end(); }
  std::span<const T> slice(std::size_t index, std::size_t count) const {
    return {elements_.data() + (index - start_), count};
  }

  void push_back(T value) { elements_.push_back(std::move(value)); }
  T& emplace_back() { return elements_.emplace_back(); }
  // Appends copies of `value` until the size is this.
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
  // Makes room for `more` elements. However often it is called, growing costs O(1) an element.
  void reserve(std::size_t more) {
    if (has_room(more)) return;
    elements_.reserve(std::max(elements_.size() + more, 2 * elements_.capacity()));
  }
  // The room that is reserved and not filled yet.
  std::span<const std::byte> unfilled() const { return troupe::unfilled(elements_); }

  // The next element will have this index. Nothing may be held.
  void start_at(std::size_t index) {
    elements_.clear();
    start_ = first_ = index;
  }

  // Forgets what is older than `index`, which is at most size(); nothing where that is forgotten
  // already. Amortised O(1).
  void forget_before(std::size_t index) {
    if (index <= first_) return;
    first_ = index;
    constexpr std::size_t erase_min = 64;
    const std::size_t dropped = first_ - start_;
    // No more elements are moved than leave for good.
    if (dropped < erase_min || 2 * dropped < elements_.size()) return;
    elements_.erase(elements_.begin(), elements_.begin() + static_cast<std::ptrdiff_t>(dropped));
    start_ = first_;
  }

 private:
  BigVector<T> elements_;
  std::size_t start_ = 0;  // the index of elements_[0]
  std::size_t first_ = 0;
};

// The index that ends in these 32 bits, of those from `oldest` on: with fewer than 2^32 kept, half
// of an index is enough to store.
constexpr std::size_t index_from(std::size_t oldest, std::uint32_t lower_half) {
  return oldest + static_cast<std::uint32_t>(lower_half - oldest);
}

}  // namespace troupe
