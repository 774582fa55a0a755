#include "core/patterns/patterns.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

PatternOps point_ops(const Graph& graph, const PointTask& task, std::span<const DeviceId> devices) {
  task.check();
  const OpKindId point = graph.kinds().find("point");
  TROUPE_ASSERT(point);
  return {.kernel = point, .attrs = to_attrs(task), .devices = devices};
}

PatternRows::PatternRows(Graph& graph, const Pattern& pattern, const PatternOps& ops,
                         std::string name, SourcePlace place)
    : graph_(graph), pattern_(pattern), last_row_(graph.size()) {
  pattern_.check();
  group_ = graph_.begin_group(std::move(name), true, std::move(place));
  std::vector<OpTemplateId> templates;  // by device
  for (const DeviceId device : ops.devices) {
    templates.push_back(graph_.add_template(
        {.kind = ops.kernel, .placement = {.device = device}, .attrs = ops.attrs}));
  }
  if (templates.empty())
    templates.push_back(graph_.add_template({.kind = ops.kernel, .attrs = ops.attrs}));
  inputs_.resize(pattern_.inputs_max());
  for (std::uint32_t i = 0; i < pattern_.width; ++i) {
    templates_.push_back(templates[block_of(i, pattern_.width, templates.size())]);
  }
}

void PatternRows::append(std::uint32_t steps) {
  const std::uint64_t ops_before = pattern_.first_of_row(next_);
  TROUPE_ASSERT(group_.index() + 1 == graph_.group_count());
  TROUPE_ASSERT(graph_.size() == graph_.group(group_).first.index() + ops_before);
  const std::uint32_t end = next_ + std::min(steps, pattern_.steps - next_);
  // Inputs are reserved only if points read few columns, since only then is the maximum per op
  // close to the mean.
  constexpr std::uint32_t reserved_inputs_max = 8;
  const std::uint32_t inputs_each = pattern_.inputs_max();
  const std::uint64_t ops = pattern_.first_of_row(end) - ops_before;
  const Prefault prefault =
      graph_.reserve(ops, inputs_each <= reserved_inputs_max ? ops * inputs_each : 0);
  while (next_ < end) append_row();
}

void PatternRows::append_row() {
  const std::size_t row = graph_.size();
  for (std::uint32_t i = 0; i < pattern_.points_of_row(next_); ++i) {
    std::size_t count = 0;
    for_each_dependence(pattern_, next_, i, [&](std::uint32_t column) {
      inputs_[count++] = OpId::at(last_row_ + column);
    });
    graph_.append(templates_[i], std::span(inputs_).first(count));
  }
  last_row_ = row;
  ++next_;
}

GroupId append_pattern(Graph& graph, const Pattern& pattern, const PatternOps& ops,
                       std::string name, SourcePlace place) {
  PatternRows rows(graph, pattern, ops, std::move(name), std::move(place));
  rows.append(pattern.steps);
  return rows.group();
}

GroupId append_points(Graph& graph, const PointTask& task, std::span<const DeviceId> devices,
                      std::string name, SourcePlace place) {
  return append_pattern(graph, task.pattern, point_ops(graph, task, devices), std::move(name),
                        std::move(place));
}

}  // namespace troupe
