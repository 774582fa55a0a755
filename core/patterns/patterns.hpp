// Regular graphs that are named rather than written out: the patterns of
// core/patterns/dependence.hpp as ops of a graph.
#pragma once

#include "core/graph/graph.hpp"
#include "core/patterns/point_task.hpp"

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

// What points of this task do: the op `point`, whose payloads are checked by their readers.
// `devices` must outlive what is returned. Throws what PointTask::check throws.
PatternOps point_ops(const Graph& graph, const PointTask& task,
                     std::span<const DeviceId> devices = {});

// Appends a pattern as one group, some rows at a time: op k of the group is pattern.point(k), and
// reads what for_each_dependence says, in that order. However the rows are split, the ops are the
// same.
//
//   PatternRows rows(graph, pattern, ops, "grid");
//   while (!rows.is_complete()) {
//     rows.append(100);
//     …
//     graph.forget_before(rows.last_row());
//   }
class PatternRows {
 public:
  // Opens the group. The graph must outlive this; the pattern and the ops need not. Throws what
  // Pattern::check and Graph::add_template throw.
  PatternRows(Graph& graph, const Pattern& pattern, const PatternOps& ops, std::string name,
              SourcePlace place = {});

  // The next rows, fewer where the pattern ends. Nothing else may have been appended to the graph,
  // and no other group opened. Throws what Graph::append throws; where it throws, the rows may be
  // there in part, and no more can follow.
  void append(std::uint32_t steps);
  bool is_complete() const { return next_ == pattern_.steps; }

  GroupId group() const { return group_; }
  // The first op of the row appended last: rows to come read none that are older. Before the first
  // row, where that will begin.
  OpId last_row() const { return OpId::at(last_row_); }

 private:
  void append_row();

  Graph& graph_;
  Pattern pattern_;
  GroupId group_;
  std::vector<OpTemplateId>
      templates_;           // by column: ops differ in their device and their inputs only
  std::uint32_t next_ = 0;  // row
  std::size_t last_row_;
  std::vector<OpId> inputs_;  // room for those of one op
};

// All rows at once. Throws what PatternRows throws; where it throws, the group may be there in
// part.
GroupId append_pattern(Graph& graph, const Pattern& pattern, const PatternOps& ops,
                       std::string name, SourcePlace place = {});

// The same with point_ops.
GroupId append_points(Graph& graph, const PointTask& task, std::span<const DeviceId> devices,
                      std::string name, SourcePlace place = {});

}  // namespace troupe
