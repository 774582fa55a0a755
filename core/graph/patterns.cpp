#include "core/graph/patterns.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace troupe {
namespace {

// stencil_1d: columns i-1, i and i+1, as far as they exist.
std::size_t stencil_1d_inputs_max(PatternSize size) {
  return std::min<std::size_t>(size.width, 3);
}

void stencil_1d_dependences(PatternSize size, std::uint32_t, std::uint32_t i,
                            std::vector<std::uint32_t>& columns) {
  const std::uint32_t first = i == 0 ? 0 : i - 1;
  const std::uint32_t last = std::min(i + 1, size.width - 1);
  for (std::uint32_t column = first; column <= last; ++column) columns.push_back(column);
}

constexpr std::array table = {
    Pattern{.name = "stencil_1d",
            .summary = "each op reads its own column and both neighbours of the step before",
            .inputs_max = stencil_1d_inputs_max,
            .dependences = stencil_1d_dependences},
};

}  // namespace

std::span<const Pattern> patterns() {
  return table;
}

const Pattern* find_pattern(std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Pattern& p) { return p.name == name; });
  return found == table.end() ? nullptr : &*found;
}

GroupId append_pattern(Graph& graph, const Pattern& pattern, PatternSize size,
                       const PatternOps& ops, std::string name, SourcePlace place) {
  TROUPE_ASSERT(size.width > 0 && size.steps > 0);
  const GroupId group = graph.begin_group(std::move(name), true, std::move(place));
  std::vector<std::uint32_t> columns;
  std::vector<OpId> inputs;
  std::size_t row_before = graph.size();
  OpSpec op{.kind = ops.kernel, .attrs = ops.attrs};
  for (std::uint32_t t = 0; t < size.steps; ++t) {
    const std::size_t row = graph.size();
    for (std::uint32_t i = 0; i < size.width; ++i) {
      columns.clear();
      if (t > 0) pattern.dependences(size, t, i, columns);
      inputs.clear();
      for (const std::uint32_t column : columns) inputs.push_back(OpId::at(row_before + column));
      op.inputs = inputs;
      if (!ops.devices.empty()) {
        op.placement.device = ops.devices[block_of(i, size.width, ops.devices.size())];
      }
      graph.append(op);
    }
    row_before = row;
  }
  return group;
}

}  // namespace troupe
