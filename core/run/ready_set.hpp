// A set of item numbers with fast removal of the smallest.
#pragma once

#include "core/base/prefetch.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace troupe {

// One bit for each number below a limit, and a hierarchy of summaries: for each 64 words, a summary
// word whose bits say which of them are not 0. insert() and pop() take a few instructions, whatever
// the size.
class ReadySet {
 public:
  // Empties the set, for numbers below `limit`.
  void reset(std::uint32_t limit) {
    std::uint32_t words = static_cast<std::uint32_t>((std::uint64_t{limit} + 63) / 64);
    std::uint32_t end = words;
    for (levels_ = 0; words > 1; ++levels_) {
      words = (words + 63) / 64;
      level_begin_[levels_] = end;
      end += words;
    }
    words_.assign(end, 0);
    lowest_ = 0;
    size_ = 0;
  }

  // `item` must not be in the set.
  void insert(std::uint32_t item) {
    ++size_;
    std::uint32_t at = item / 64;
    const bool was_empty = words_[at] == 0;
    words_[at] |= std::uint64_t{1} << item % 64;
    if (at < lowest_) lowest_ = at;
    if (was_empty) summarize(at);
  }

  // Removes and returns the smallest item. The set must not be empty.
  std::uint32_t pop() {
    --size_;
    if (words_[lowest_] == 0) lowest_ = find_lowest();
    std::uint64_t& word = words_[lowest_];
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(word));
    word &= word - 1;
    if (word == 0) forget(lowest_);
    return lowest_ * 64 + bit;
  }

  // Prefetches the word that pop() is likely to read.
  void prefetch() const { prefetch_to_read(words_.data() + lowest_); }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  bool contains(std::uint32_t item) const { return (words_[item / 64] >> item % 64 & 1) != 0; }

 private:
  // Word `at` was 0 and is no more: updates the summaries.
  void summarize(std::uint32_t at) {
    for (std::uint32_t l = 0; l < levels_; ++l) {
      std::uint64_t& word = words_[level_begin_[l] + at / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << at % 64;
      if (!was_empty) return;
      at /= 64;
    }
  }
  // Word `at` has become 0: updates the summaries.
  void forget(std::uint32_t at) {
    for (std::uint32_t l = 0; l < levels_; ++l) {
      std::uint64_t& word = words_[level_begin_[l] + at / 64];
      word &= ~(std::uint64_t{1} << at % 64);
      if (word != 0) return;
      at /= 64;
    }
  }
  std::uint32_t find_lowest() const {
    std::uint32_t at = 0;
    for (std::uint32_t l = levels_; l-- > 0;) {
      at = at * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[level_begin_[l] + at]));
    }
    return at;
  }

  std::vector<std::uint64_t> words_;  // first the items' bits, then the summaries, level by level
  // The index of the first word of each level of summaries.
  std::array<std::uint32_t, 5> level_begin_ = {};
  std::uint32_t levels_ = 0;
  std::uint32_t lowest_ = 0;  // all words before this one are 0
  std::uint32_t size_ = 0;
};

}  // namespace troupe
