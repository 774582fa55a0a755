#include "core/plan/rest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe {
namespace {

// By op.
struct Known {
  std::vector<bool> exists;    // in some memory
  std::vector<bool> prepared;  // before the clock started
};

Known look_up(const Graph& graph, const Plan& plan, const Remains& remains) {
  Known known{.exists = std::vector<bool>(graph.size(), false),
              .prepared = std::vector<bool>(graph.size(), false)};
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    const Unit& unit = plan.units[u];
    if (remains.exists[u]) known.exists[unit.op.index()] = true;
    if (unit.makes_result && UnitId::at(u) < plan.first_timed) {
      known.prepared[unit.op.index()] = true;
    }
  }
  return known;
}

// By op: whether an op of the plan reads it.
std::vector<bool> read_ops(const Graph& graph, const Plan& plan) {
  std::vector<bool> is_read(graph.size(), false);
  for (const OpId op : plan.ops) {
    for (const OpId input : graph.inputs(op)) is_read[input.index()] = true;
  }
  return is_read;
}

}  // namespace

Remains find_remains(const Machine& machine, const Plan& plan, std::span<const Window> windows,
                     const std::vector<bool>& made_before, const std::vector<bool>& lost_nodes) {
  const std::size_t count = plan.replicas.size();
  Remains remains{.is_made = made_before,
                  .exists = std::vector<bool>(count, false),
                  .leaves_digest = std::vector<bool>(count, false)};
  remains.is_made.resize(count, false);
  std::vector<std::uint32_t> readers;
  readers.reserve(count);
  for (const ReplicaSpec& spec : plan.replicas) readers.push_back(spec.readers);
  for (const Window& window : windows) {
    for (const auto& [resource, share] : window.shares) {
      for (std::uint32_t i = 0; i < share.size(); ++i) {
        if (!share.items[i].finished()) continue;
        remains.is_made[share.items[i].unit.index()] = true;
        for (const ReplicaId input : share.inputs_of(i)) --readers[input.index()];
      }
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    const ReplicaSpec& spec = plan.replicas[r];
    const Memory& memory = machine.memory(spec.memory);
    const bool is_lost =
        memory.node && memory.node.index() < lost_nodes.size() && lost_nodes[memory.node.index()];
    if (!remains.is_made[r] || is_lost || memory.kind == MemoryKind::network) continue;
    remains.exists[r] = readers[r] > 0;
    remains.leaves_digest[r] = readers[r] == 0 && spec.leaves_digest;
  }
  return remains;
}

Rest find_rest(const Graph& graph, const Plan& plan, const Remains& remains,
               std::span<const OpId> saved) {
  const Known known = look_up(graph, plan, remains);
  const std::vector<bool> is_read = read_ops(graph, plan);
  Rest rest;
  rest.is_made.resize(graph.size(), false);
  rest.is_wanted.resize(graph.size(), false);
  for (const Plan::Result& result : plan.results) {
    const OpId op = result.op;
    const bool is_saved = std::binary_search(saved.begin(), saved.end(), op);
    const bool is_output = !is_read[op.index()] && !known.prepared[op.index()];
    if (!is_output && !is_saved) continue;
    rest.is_wanted[op.index()] = true;
    rest.is_made[op.index()] = !known.exists[op.index()];
  }
  // Further outputs come right behind their op, which makes all of them.
  for (std::size_t i = graph.size(); i-- > 0;) {
    const OpId op = OpId::at(i);
    if (!rest.is_made[i]) continue;
    rest.is_made[graph.maker(op).index()] = true;
    if (graph.output_number(op) > 0) continue;
    for (const OpId input : graph.inputs(op)) {
      if (!known.exists[input.index()]) rest.is_made[input.index()] = true;
    }
  }
  WindowOps prepared{.ops = {}, .timed = false};
  WindowOps timed;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const OpId op = OpId::at(i);
    if (!rest.is_made[graph.maker(op).index()]) continue;
    rest.is_made[i] = true;
    (known.prepared[i] ? prepared : timed).ops.append(op);
  }
  for (WindowOps* const window : {&prepared, &timed}) {
    if (!window->ops.empty()) rest.windows.push_back(std::move(*window));
  }
  return rest;
}

}  // namespace troupe
