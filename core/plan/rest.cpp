#include "core/plan/rest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe {

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

Goal find_goal(const Graph& graph, const Scenario& scenario, std::span<const OpId> saved,
               bool needs_outputs) {
  Goal goal{.windows = scenario_windows(graph, scenario), .wanted = {}};
  std::vector<bool> is_read(graph.size(), false);
  for (const WindowOps& window : goal.windows) {
    for (const OpId op : window.ops) {
      for (const OpId input : graph.inputs(op)) is_read[input.index()] = true;
    }
  }
  for (const WindowOps& window : goal.windows) {
    for (const OpId op : window.ops) {
      const bool is_output = needs_outputs && window.timed && !is_read[op.index()];
      const bool is_saved = std::binary_search(saved.begin(), saved.end(), op);
      if (is_output || is_saved) goal.wanted.push_back(op);
    }
  }
  std::sort(goal.wanted.begin(), goal.wanted.end());
  return goal;
}

std::vector<bool> existing_ops(const Graph& graph, const Plan& plan, const Remains& remains) {
  std::vector<bool> exists(graph.size(), false);
  for (std::size_t u = 0; u < remains.exists.size(); ++u) {
    if (remains.exists[u]) exists[plan.units[u].op.index()] = true;
  }
  return exists;
}

Rest find_rest(const Graph& graph, const Goal& goal, const std::vector<bool>& exists) {
  Rest rest;
  rest.is_made.resize(graph.size(), false);
  rest.is_wanted.resize(graph.size(), false);
  for (const OpId op : goal.wanted) {
    rest.is_wanted[op.index()] = true;
    rest.is_made[op.index()] = !exists[op.index()];
  }
  for (std::size_t i = graph.size(); i-- > 0;) {
    const OpId op = OpId::at(i);
    if (!rest.is_made[i]) continue;
    rest.is_made[graph.maker(op).index()] = true;
    if (graph.output_number(op) > 0) continue;
    for (const OpId input : graph.inputs(op)) {
      if (!exists[input.index()]) rest.is_made[input.index()] = true;
    }
  }
  // An op makes all of its outputs, which come right behind it.
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::size_t further = rest.is_made[i] ? graph.op_class(OpId::at(i)).further : 0;
    for (std::size_t k = 1; k <= further; ++k) rest.is_made[i + k] = true;
  }
  for (const WindowOps& window : goal.windows) {
    WindowOps left{.ops = {}, .timed = window.timed};
    for (const OpId op : window.ops) {
      if (rest.is_made[op.index()]) left.ops.append(op);
    }
    if (!left.ops.empty()) rest.windows.push_back(std::move(left));
  }
  return rest;
}

std::vector<ReplicaId> needed_replicas(const Graph& graph, const Rest& rest, const Plan& plan,
                                       const Remains& remains) {
  std::vector<bool> is_needed = rest.is_wanted;
  for (const WindowOps& window : rest.windows) {
    for (const OpId op : window.ops) {
      for (const OpId input : graph.inputs(op)) is_needed[input.index()] = true;
    }
  }
  std::vector<ReplicaId> replicas;
  for (std::size_t u = 0; u < remains.exists.size(); ++u) {
    const std::size_t op = plan.units[u].op.index();
    if (!remains.exists[u] || rest.is_made[op] || !is_needed[op]) continue;
    is_needed[op] = false;
    replicas.push_back(ReplicaId::at(u));
  }
  std::sort(replicas.begin(), replicas.end(), [&](ReplicaId a, ReplicaId b) {
    return plan.units[a.index()].op < plan.units[b.index()].op;
  });
  return replicas;
}

}  // namespace troupe
