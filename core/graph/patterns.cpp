#include "core/graph/patterns.hpp"

#include "core/base/assert.hpp"

#include <utility>

namespace troupe {

GroupId append_pattern(Graph& graph, const Pattern& pattern, const PatternOps& ops,
                       std::string name, SourcePlace place) {
  pattern.check();
  const GroupId group = graph.begin_group(std::move(name), true, std::move(place));
  // A form for each device: ops differ in their inputs only.
  std::vector<FormId> forms;
  for (const DeviceId device : ops.devices) {
    forms.push_back(
        graph.form({.kind = ops.kernel, .placement = {.device = device}, .attrs = ops.attrs}));
  }
  if (forms.empty()) forms.push_back(graph.form({.kind = ops.kernel, .attrs = ops.attrs}));
  constexpr std::uint32_t few = 8;  // with more, the most is far from the mean
  const std::uint32_t inputs_each = pattern.inputs_max();
  graph.reserve(pattern.points(), inputs_each <= few ? pattern.points() * inputs_each : 0);
  std::vector<OpId> inputs;
  std::size_t row_before = graph.size();
  for (std::uint32_t t = 0; t < pattern.steps; ++t) {
    const std::size_t row = graph.size();
    for (std::uint32_t i = 0; i < pattern.points_of_row(t); ++i) {
      inputs.clear();
      for_each_dependence(pattern, t, i, [&](std::uint32_t column) {
        inputs.push_back(OpId::at(row_before + column));
      });
      graph.append(forms[block_of(i, pattern.width, forms.size())], inputs);
    }
    row_before = row;
  }
  return group;
}

GroupId append_points(Graph& graph, const PointTask& task, std::span<const DeviceId> devices,
                      std::string name, SourcePlace place) {
  task.check();
  const OpKindId point = graph.kinds().find("point");
  TROUPE_ASSERT(point);
  return append_pattern(graph, task.pattern,
                        {.kernel = point, .attrs = to_attrs(task), .devices = devices},
                        std::move(name), std::move(place));
}

}  // namespace troupe
