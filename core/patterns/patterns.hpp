// Appends the patterns of core/patterns/dependence.hpp to a graph.
#pragma once

#include "core/graph/graph.hpp"
#include "core/patterns/point_task.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// Splits `count` elements into `parts` contiguous blocks of nearly equal size. Returns the block of
// element `i`.
constexpr std::size_t block_of(std::uint64_t i, std::uint64_t count, std::size_t parts) {
  return static_cast<std::size_t>(i * parts / count);
}

// The kind and attributes of every op of the grid, and the devices that compute the ops.
struct PatternOps {
  OpKindId kernel;  // takes from 0 to pattern.inputs_max() inputs
  Attrs attrs = {};
  // Each device computes a contiguous block of columns. Empty: the planner chooses.
  std::span<const DeviceId> devices = {};
};

// Ops of kind `point`, which check the payloads that they read. `devices` must outlive the result.
// Throws a usage Error if PointTask::check does.
PatternOps point_ops(const Graph& graph, const PointTask& task,
                     std::span<const DeviceId> devices = {});

// Appends a pattern as one group, some rows at a time. Op k of the group is pattern.point(k). Its
// inputs are the dependences of that point, in the order of for_each_dependence. The ops don't
// depend on how many rows each call appends.
//
//   PatternRows rows(graph, pattern, ops, "grid");
//   while (!rows.is_complete()) {
//     rows.append(100);
//     …
//     graph.forget_before(rows.last_row());
//   }
class PatternRows {
 public:
  // Opens the group. The graph must outlive this object; the pattern and the ops need not. Throws a
  // usage Error if Pattern::check or Graph::add_template does.
  PatternRows(Graph& graph, const Pattern& pattern, const PatternOps& ops, std::string name,
              SourcePlace place = {});

  // Appends the next `steps` rows, or fewer if the pattern ends. Since the constructor, no other op
  // may have been appended to the graph and no other group opened. Throws what Graph::append
  // throws; after that, some of the rows may be in the graph, and no more rows can be appended.
  void append(std::uint32_t steps);
  bool is_complete() const { return next_ == pattern_.steps; }

  GroupId group() const { return group_; }
  // The first op of the row appended last: later rows read no older op. Before the first row is
  // appended, the id that its first op will have.
  OpId last_row() const { return OpId::at(last_row_); }

 private:
  void append_row();

  Graph& graph_;
  Pattern pattern_;
  GroupId group_;
  std::vector<OpTemplateId> templates_;  // by column: columns differ only in their device
  std::uint32_t next_ = 0;               // row
  std::size_t last_row_;
  std::vector<OpId> inputs_;  // of the op being appended
};

// Appends all rows at once. Throws what PatternRows throws; after that, part of the group may be in
// the graph.
GroupId append_pattern(Graph& graph, const Pattern& pattern, const PatternOps& ops,
                       std::string name, SourcePlace place = {});

// The same with point_ops.
GroupId append_points(Graph& graph, const PointTask& task, std::span<const DeviceId> devices,
                      std::string name, SourcePlace place = {});

}  // namespace troupe
