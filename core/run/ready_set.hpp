// A set of item numbers whose smallest is at hand.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

// A bit for each number below a limit, and over each 64 words a word that tells which have a bit:
// putting in and taking the smallest out cost a few instructions, however many there are.
class ReadySet {
 public:
  // Empties the set, for numbers below `limit`.
  void reset(std::uint32_t limit) {
    levels_.clear();
    std::size_t bits = limit;
    do {
      bits = (bits + 63) / 64;
      levels_.emplace_back(bits, 0);
    } while (bits > 1);
    size_ = 0;
  }

  // `item` must not be there yet.
  void insert(std::uint32_t item) {
    ++size_;
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[item / 64];
      const bool was_empty = word == 0;
      word |= std::uint64_t{1} << item % 64;
      if (!was_empty) return;
      item /= 64;
    }
  }

  // Takes the smallest out; there must be one.
  std::uint32_t pop() {
    --size_;
    std::uint32_t item = 0;
    for (std::size_t l = levels_.size(); l-- > 0;) {
      item = item * 64 + static_cast<std::uint32_t>(std::countr_zero(levels_[l][item]));
    }
    const std::uint32_t smallest = item;
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[item / 64];
      word &= word - 1;  // its lowest bit is the one
      if (word != 0) break;
      item /= 64;
    }
    return smallest;
  }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  bool contains(std::uint32_t item) const { return (levels_[0][item / 64] >> item % 64 & 1) != 0; }

 private:
  std::vector<std::vector<std::uint64_t>> levels_;
  std::uint32_t size_ = 0;
};

}  // namespace troupe
