// Compact lists of ops: a group of millions takes a few bytes.
#pragma once

#include "core/base/id.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

namespace troupe {

// A sequence of ops, stored as ranges of consecutive ids.
class OpRanges {
 public:
  class Iterator;

  OpRanges() = default;
  OpRanges(std::initializer_list<OpId> ops) {
    for (const OpId op : ops) append(op);
  }

  void append(OpId first, std::uint32_t count = 1) {
    if (count == 0) return;
    if (!ranges_.empty() && ranges_.back().end == first.value) {
      ranges_.back().end += count;
    } else {
      ranges_.push_back({first.value, first.value + count});
    }
    size_ += count;
  }
  // Appends all ops of `other`.
  void append(const OpRanges& other) {
    for (const Range& range : other.ranges_) append(OpId{range.first}, range.end - range.first);
  }
  // Sorts into graph order. No op may occur twice.
  void sort() {
    OpRanges unsorted = std::exchange(*this, {});
    std::sort(unsorted.ranges_.begin(), unsorted.ranges_.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
    append(unsorted);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  OpId front() const { return OpId{ranges_.front().first}; }
  Iterator begin() const;
  Iterator end() const;
  friend bool operator==(const OpRanges&, const OpRanges&) = default;

 private:
  // first, …, end-1: never empty.
  struct Range {
    std::uint32_t first;
    std::uint32_t end;
    friend bool operator==(const Range&, const Range&) = default;
  };

  std::vector<Range> ranges_;
  std::size_t size_ = 0;
};

// Valid until the list changes.
class OpRanges::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;  // its reference is a value
  using iterator_concept = std::forward_iterator_tag;
  using value_type = OpId;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = OpId;

  Iterator() = default;
  OpId operator*() const { return OpId{op_}; }
  Iterator& operator++() {
    if (++op_ == range_->end) enter(range_ + 1);
    return *this;
  }
  Iterator operator++(int) {
    const Iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  friend class OpRanges;
  Iterator(const Range* range, const Range* last) : last_(last) { enter(range); }
  void enter(const Range* range) {
    range_ = range;
    op_ = range == last_ ? 0 : range->first;
  }

  const Range* range_ = nullptr;
  const Range* last_ = nullptr;
  std::uint32_t op_ = 0;
};

inline OpRanges::Iterator OpRanges::begin() const {
  return {ranges_.data(), ranges_.data() + ranges_.size()};
}

inline OpRanges::Iterator OpRanges::end() const {
  const Range* const last = ranges_.data() + ranges_.size();
  return {last, last};
}

}  // namespace troupe
