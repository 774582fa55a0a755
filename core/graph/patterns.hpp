// Regular graphs that are named rather than written out: a grid of equal ops, `steps` rows of
// `width` columns, where each op reads some columns of the row before.
#pragma once

#include "core/graph/graph.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct PatternSize {
  std::uint32_t width = 1;
  std::uint32_t steps = 1;

  std::uint64_t ops() const { return std::uint64_t{width} * steps; }
  friend bool operator==(const PatternSize&, const PatternSize&) = default;
};

// A dependence rule. To add one, write its two functions in patterns.cpp and list it there.
struct Pattern {
  std::string_view name;
  std::string_view summary;  // one line, for listings

  // The most inputs that any op of a grid of this size has.
  std::size_t (*inputs_max)(PatternSize size);
  // Appends to `columns`, in ascending order, those of step t-1 that the op (t, i) reads; t > 0.
  void (*dependences)(PatternSize size, std::uint32_t t, std::uint32_t i,
                      std::vector<std::uint32_t>& columns);
};

// Every pattern, for listings.
std::span<const Pattern> patterns();
// Null where there is none of this name.
const Pattern* find_pattern(std::string_view name);

// Which of `parts` contiguous blocks of nearly equal size element `i` of `count` falls into.
constexpr std::size_t block_of(std::uint64_t i, std::uint64_t count, std::size_t parts) {
  return static_cast<std::size_t>(i * parts / count);
}

// What every op of the grid does, and where.
struct PatternOps {
  OpKindId kernel;  // takes from 0 to inputs_max(size) inputs
  Attrs attrs = {};
  std::span<const DeviceId> devices =
      {};  // get contiguous blocks of columns; empty: planner's choice
};

// Appends a group of size.ops() ops in row order: (t, i) is name[t * width + i]. Width and steps
// must be at least 1. Throws what Graph::append throws.
GroupId append_pattern(Graph& graph, const Pattern& pattern, PatternSize size,
                       const PatternOps& ops, std::string name, SourcePlace place = {});

}  // namespace troupe
