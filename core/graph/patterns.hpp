// Regular graphs that are named rather than written out: the patterns of core/ops/dependence.hpp as
// ops of a graph.
#pragma once

#include "core/graph/graph.hpp"
#include "core/ops/point_task.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// Which of `parts` contiguous blocks of nearly equal size element `i` of `count` falls into.
constexpr std::size_t block_of(std::uint64_t i, std::uint64_t count, std::size_t parts) {
  return static_cast<std::size_t>(i * parts / count);
}

// What every op of the grid does, and where.
struct PatternOps {
  OpKindId kernel;  // takes from 0 to pattern.inputs_max() inputs
  Attrs attrs = {};
  // They get contiguous blocks of columns; empty: planner's choice.
  std::span<const DeviceId> devices = {};
};

// Appends a group of pattern.points() ops, row by row: op k is pattern.point(k), and reads what
// for_each_dependence says, in that order. Throws what Pattern::check and Graph::append throw;
// where it throws, the group may be there in part.
GroupId append_pattern(Graph& graph, const Pattern& pattern, const PatternOps& ops,
                       std::string name, SourcePlace place = {});

// The same with the op `point`, whose payloads are checked by their readers. Throws what
// PointTask::check throws besides.
GroupId append_points(Graph& graph, const PointTask& task, std::span<const DeviceId> devices,
                      std::string name, SourcePlace place = {});

}  // namespace troupe
