// A set of item numbers whose smallest is at hand.
#pragma once

#include "core/base/prefetch.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace troupe {

// A bit for each number below a limit, and over each 64 words a word that tells which have a bit:
// putting in and taking the smallest out cost a few instructions, however many there are.
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

  // `item` must not be there yet.
  void insert(std::uint32_t item) {
    ++size_;
    std::uint32_t at = item / 64;
    const bool was_empty = words_[at] == 0;
    words_[at] |= std::uint64_t{1} << item % 64;
    if (at < lowest_) lowest_ = at;
    if (was_empty) summarize(at);
  }

  // Takes the smallest out; there must be one.
  std::uint32_t pop() {
    --size_;
    if (words_[lowest_] == 0) lowest_ = find_lowest();
    std::uint64_t& word = words_[lowest_];
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(word));
    word &= word - 1;
    if (word == 0) forget(lowest_);
    return lowest_ * 64 + bit;
  }

  // Lets the cache fetch what pop() will look at.
  void prefetch() const { prefetch_to_read(words_.data() + lowest_); }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  bool contains(std::uint32_t item) const { return (words_[item / 64] >> item % 64 & 1) != 0; }

 private:
  // Word `at` has got its first bit.
  void summarize(std::uint32_t at) {
    for (std::uint32_t l = 0; l < levels_; ++l) {
      std::uint64_t& word = words_[level_begin_[l] + at / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << at % 64;
      if (!was_empty) return;
      at /= 64;
    }
  }
  // Word `at` has lost its last bit.
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

  std::vector<std::uint64_t> words_;  // those that tell of others last
  // Where those over the items' words begin, those over them…
  std::array<std::uint32_t, 5> level_begin_ = {};
  std::uint32_t levels_ = 0;
  std::uint32_t lowest_ = 0;  // no word before it has a bit
  std::uint32_t size_ = 0;
};

}  // namespace troupe
