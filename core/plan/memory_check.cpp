#include "core/plan/memory_check.hpp"

#include "core/base/units.hpp"

#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

[[noreturn]] void refuse(const Graph& graph, const Machine& machine, const Unit& unit,
                         const ReplicaSpec& made, std::uint64_t in_use) {
  const Memory& memory = machine.memory(made.memory);
  throw usage_error(
      graph.group(graph.group_of(unit.op)).place,
      fmt::format("'{}' on {} needs {} in {}, and {} of its {} are available there{}",
                  graph.name(unit.op), resource_name(machine, unit.ref.resource),
                  format_bytes(graph.types()[made.type].bytes()), memory.name,
                  format_bytes(memory.size_bytes - in_use), format_bytes(memory.size_bytes),
                  in_use > 0 ? " (earlier results that are still needed hold the rest)" : ""),
      "use smaller tensors or fewer at once, or give the memory more");
}

}  // namespace

bool is_unlimited(const Memory& memory) {
  return memory.kind == MemoryKind::storage && memory.size_bytes == 0;
}

void check_memory(const Graph& graph, const Machine& machine, const Plan& plan) {
  const auto bytes_of = [&](const ReplicaSpec& r) { return graph.types()[r.type].bytes(); };
  std::vector<std::uint64_t> used(machine.memories.size(), 0);
  std::vector<std::uint32_t> readers;
  readers.reserve(plan.replicas.size());
  for (const ReplicaSpec& r : plan.replicas) readers.push_back(r.readers);
  std::vector<const Share*> shares(machine.devices.size() + machine.links.size(), nullptr);
  for (const Window& window : plan.windows) {
    for (const auto& [resource, share] : window.shares) shares[resource.index()] = &share;
    for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
      const ItemRef ref = plan.units[u].ref;
      const Share& share = *shares[ref.resource.index()];
      const ReplicaSpec& made = plan.replicas[share.output[ref.item].index()];
      const Memory& memory = machine.memory(made.memory);
      std::uint64_t& in_use = used[made.memory.index()];
      if (!is_unlimited(memory) && in_use + bytes_of(made) > memory.size_bytes) {
        refuse(graph, machine, plan.units[u], made, in_use);
      }
      in_use += bytes_of(made);
      for (const ReplicaId input : share.inputs_of(ref.item)) {
        if (--readers[input.index()] > 0) continue;
        const ReplicaSpec& freed = plan.replicas[input.index()];
        used[freed.memory.index()] -= bytes_of(freed);
      }
    }
  }
}

}  // namespace troupe
