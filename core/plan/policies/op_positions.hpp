// Where the ops of a placement request stand in it.
#pragma once

#include "core/base/id.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace troupe {

class OpPositions {
 public:
  static constexpr std::uint32_t outside = std::numeric_limits<std::uint32_t>::max();

  explicit OpPositions(std::span<const OpId> ops) {
    if (ops.empty()) return;
    const auto [first, last] = std::minmax_element(ops.begin(), ops.end());
    first_ = *first;
    position_.assign(last->index() - first->index() + 1, outside);
    for (std::size_t i = 0; i < ops.size(); ++i) {
      position_[ops[i].index() - first_.index()] = static_cast<std::uint32_t>(i);
    }
  }

  // Returns `outside` if it isn't among the ops.
  std::uint32_t of(OpId op) const {
    const std::size_t i = op.index() - first_.index();
    return op >= first_ && i < position_.size() ? position_[i] : outside;
  }

 private:
  OpId first_;                           // in the order of the graph
  std::vector<std::uint32_t> position_;  // by op, from first_ on
};

}  // namespace troupe
