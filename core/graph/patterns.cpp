#include "core/graph/patterns.hpp"

#include "core/base/assert.hpp"

#include <utility>

namespace troupe {

GroupId append_pattern(Graph& graph, const Pattern& pattern, const PatternOps& ops,
                       std::string name, SourcePlace place) {
  pattern.check();
  const GroupId group = graph.begin_group(std::move(name), true, std::move(place));
  std::vector<OpId> inputs;
  std::size_t row_before = graph.size();
  OpSpec op{.kind = ops.kernel, .attrs = ops.attrs};
  for (std::uint32_t t = 0; t < pattern.steps; ++t) {
    const std::size_t row = graph.size();
    for (std::uint32_t i = 0; i < pattern.points_of_row(t); ++i) {
      inputs.clear();
      for_each_dependence(pattern, t, i, [&](std::uint32_t column) {
        inputs.push_back(OpId::at(row_before + column));
      });
      op.inputs = inputs;
      if (!ops.devices.empty()) {
        op.placement.device = ops.devices[block_of(i, pattern.width, ops.devices.size())];
      }
      graph.append(op);
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
