#include "core/plan/results.hpp"

#include "core/base/saturating.hpp"
#include "core/plan/memory_order.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe {

namespace {

void sort_by_op(std::vector<Plan::Result>& results) {
  std::sort(results.begin(), results.end(),
            [](const Plan::Result& a, const Plan::Result& b) { return a.op < b.op; });
}

}  // namespace

void keep_results(Plan& plan, const Graph& graph, const Machine& machine,
                  const PlanOptions& options, const std::vector<WindowOps>& windows,
                  const SlidingVector<ReplicaId>& home) {
  const std::vector<std::uint64_t> kept = bytes_in_all(graph, machine, plan);
  const auto is_in_ram = [&](MemoryId m) {
    const bool stores = machine.memory(m).kind == MemoryKind::storage;
    return is_host_ram(machine, m) || (stores && options.has_storage_in_ram);
  };
  std::uint64_t in_ram = 0;
  for (std::size_t m = 0; m < kept.size(); ++m) {
    if (is_in_ram(MemoryId::at(m))) in_ram = add_sat(in_ram, kept[m]);
  }
  const auto has_room = [&](MemoryId m) {
    const Memory& memory = machine.memory(m);
    if (is_in_ram(m) && options.ram_bytes && in_ram > *options.ram_bytes / 4) {
      return false;
    }
    return is_unlimited(memory) || kept[m.index()] <= memory.size_bytes / 4;
  };
  // What is prepared is read by something, but not each of its further outputs.
  const bool has_unread = std::any_of(graph.classes().begin(), graph.classes().end(),
                                      [](const OpClass& c) { return c.further > 0; });
  for (const WindowOps& window : windows) {
    if (!window.timed && options.saved.empty() && !has_unread) continue;
    for (const OpId op : window.ops) {
      const bool is_saved = std::binary_search(options.saved.begin(), options.saved.end(), op);
      const ReplicaId result = home[op.index()];
      ReplicaSpec& spec = plan.replicas[result.index()];
      if (!window.timed && !is_saved && spec.readers > 0) continue;
      const bool is_kept =
          is_saved || spec.readers == 0 || (options.compare_results && has_room(spec.memory));
      if (!is_kept && !(options.compare_results && options.compare_digests)) continue;
      if (is_kept) ++spec.readers;
      spec.leaves_digest = !is_kept;
      plan.results.push_back({op, result, is_kept});
    }
  }
  sort_by_op(plan.results);
}

void keep_rest(Plan& plan, const Remains& remains, const Rest& rest,
               const SlidingVector<ReplicaId>& home) {
  std::erase_if(plan.results, [&](Plan::Result& r) {
    if (rest.is_made[r.op.index()]) return true;
    if (remains.has(r.replica)) return false;
    if (!rest.is_wanted[r.op.index()]) {
      return r.is_kept || !remains.leaves_digest[r.replica.index()];
    }
    r = {r.op, home[r.op.index()], true};  // in another memory
    return false;
  });
  for (Plan::Result& result : plan.results) {
    // One that has left no digest yet leaves it to its last reader, or is kept.
    std::uint32_t& readers = plan.replicas[result.replica.index()].readers;
    if (remains.has(result.replica) && readers == 0) result.is_kept = true;
    if (result.is_kept) ++readers;
  }
  const std::size_t first =
      plan.windows.empty() ? plan.units.size() : plan.windows[0].first.index();
  for (std::size_t u = first; u < plan.units.size(); ++u) {
    const OpId op = plan.units[u].op;
    const bool is_wanted = rest.is_wanted[op.index()] && home[op.index()] == ReplicaId::at(u);
    if (!is_wanted && plan.replicas[u].readers > 0) continue;
    ++plan.replicas[u].readers;
    plan.results.push_back({op, ReplicaId::at(u), true});
  }
  sort_by_op(plan.results);
}

std::vector<PlannedWindow::Hold> hold_results(Plan& plan, const Machine& machine,
                                              const std::function<bool(OpId)>& may_be_read) {
  std::vector<PlannedWindow::Hold> holds;
  for (std::size_t u = plan.windows.back().first.index(); u < plan.units.size(); ++u) {
    ReplicaSpec& spec = plan.replicas[u];
    const bool stays =
        !plan.units[u].transfer || machine.memory(spec.memory).kind != MemoryKind::network;
    const bool is_read_later = stays && may_be_read(plan.units[u].op);
    if (!is_read_later && spec.readers > 0) continue;
    ++spec.readers;
    spec.is_private = spec.is_private && !is_read_later;
    holds.push_back({plan.units[u].op, ReplicaId::at(u)});
  }
  return holds;
}

}  // namespace troupe
