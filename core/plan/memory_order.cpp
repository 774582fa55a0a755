#include "core/plan/memory_order.hpp"

#include "core/base/assert.hpp"
#include "core/base/buffer_capacity.hpp"
#include "core/base/saturating.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Replicas before it are there already, and nobody needs those without readers.
std::size_t first_planned(const Plan& plan) {
  return plan.windows.empty() ? 0 : plan.windows.front().first.index();
}

// Calls f(unit, its inputs, its window) in graph order, window by window.
template <class F>
void each_unit(const Plan& plan, const F& f) {
  ShareTable<> shares;
  for (const Window& window : plan.windows) {
    shares.enter(window);
    for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
      const ItemRef ref = plan.units[u].ref;
      f(UnitId::at(u), shares[ref.resource].inputs_of(ref.item), window);
    }
  }
}

// Calls f(unit, its inputs) from the last one to the first.
template <class F>
void each_unit_backwards(const Plan& plan, const F& f) {
  ShareTable<> shares;
  for (std::size_t w = plan.windows.size(); w-- > 0;) {
    const Window& window = plan.windows[w];
    shares.enter(window);
    for (std::size_t u = window.first.index() + window.items; u-- > window.first.index();) {
      const ItemRef ref = plan.units[u].ref;
      f(UnitId::at(u), shares[ref.resource].inputs_of(ref.item));
    }
  }
}

// By memory: whether it is too small for all tensors of the plan at once.
std::vector<bool> tight_memories(const Graph& graph, const Machine& machine, const Plan& plan) {
  const std::vector<std::uint64_t> wanted = bytes_in_all(graph, machine, plan);
  std::vector<bool> tight;
  for (std::size_t m = 0; m < wanted.size(); ++m) {
    const Memory& memory = machine.memories[m];
    tight.push_back(!is_unlimited(memory) && wanted[m] > memory.size_bytes);
  }
  return tight;
}

// `values` must be sorted.
template <class Value>
void remove_repeated(std::vector<Value>& values) {
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

class MemoryOrder {
 public:
  MemoryOrder(const Graph& graph, const Machine& machine, const Plan& plan, bool across_nodes)
      : graph_(graph),
        machine_(machine),
        plan_(plan),
        across_nodes_(across_nodes),
        rooms_(machine.memories.size()) {
    for (const TensorType& type : graph.types()) bytes_.push_back(type.bytes());
    const std::vector<bool> tight = tight_memories(graph, machine, plan);
    for (std::size_t m = 0; m < rooms_.size(); ++m) {
      rooms_[m].fresh = machine.memories[m].size_bytes;
      rooms_[m].is_tight = tight[m];
    }
    for (std::size_t i = 0; i < first_planned(plan); ++i) {
      const ReplicaSpec& r = plan.replicas[i];
      if (r.readers == 0) continue;
      std::uint64_t& fresh = rooms_[r.memory.index()].fresh;
      fresh -= std::min(fresh, bytes_of(r));
    }
  }

  // Replicas are numbered with the units that make them, so a unit's output has its number.
  RoomOrder play() {
    for (const ReplicaSpec& r : plan_.replicas) readers_left_.push_back(r.readers);
    using Inputs = std::span<const ReplicaId>;
    each_unit(plan_, [this](UnitId u, Inputs inputs, const Window&) {
      for (const ReplicaId input : inputs) reads_.push_back({input, u});
    });
    std::sort(reads_.begin(), reads_.end());
    remove_repeated(reads_);
    each_unit(plan_, [this](UnitId u, Inputs inputs, const Window& window) {
      if (window_first_ != window.first) shares_.enter(window);
      window_first_ = window.first;
      take(u);
      for (const ReplicaId input : inputs) release(input);
    });
    std::sort(order_.edges.begin(), order_.edges.end(), [](const RoomEdge& a, const RoomEdge& b) {
      return std::pair(a.to, a.from) < std::pair(b.to, b.from);
    });
    remove_repeated(order_.edges);
    std::sort(order_.waiting.begin(), order_.waiting.end());
    remove_repeated(order_.waiting);
    return std::move(order_);
  }

 private:
  // Room, or a part of it, of a tensor that was freed.
  struct Freed {
    ReplicaId tensor;
    std::uint64_t bytes = 0;
  };
  struct Room {
    bool is_tight = false;    // too small for all tensors at once
    std::uint64_t fresh = 0;  // never used yet
    std::uint64_t reusable = 0;
    // In the order they were freed. The first is reused first: its readers finish earliest.
    std::deque<Freed> freed = {};
  };
  struct Read {
    ReplicaId tensor;
    UnitId by;
    friend auto operator<=>(const Read&, const Read&) = default;
  };

  std::uint64_t bytes_of(const ReplicaSpec& r) const { return bytes_[r.type]; }
  // With further outputs.
  std::uint64_t bytes_made_by(UnitId u) const {
    std::uint64_t bytes = 0;
    for (std::size_t k = u.index(); k < plan_.outputs_end(u); ++k) {
      bytes = add_sat(bytes, bytes_of(plan_.replicas[k]));
    }
    return bytes;
  }

  void take(UnitId u) {
    const ReplicaSpec& made = plan_.replicas[u.index()];
    Room& room = rooms_[made.memory.index()];
    if (!room.is_tight || plan_.units[u.index()].is_further) return;
    std::uint64_t needed = bytes_made_by(u);
    if (needed > room.fresh + room.reusable) refuse(u, room.fresh + room.reusable);
    const std::uint64_t from_fresh = std::min(needed, room.fresh);
    room.fresh -= from_fresh;
    needed -= from_fresh;
    room.reusable -= needed;
    while (needed > 0) {
      Freed& oldest = room.freed.front();
      add_edges(oldest.tensor, u);
      const std::uint64_t part = std::min(needed, oldest.bytes);
      oldest.bytes -= part;
      needed -= part;
      if (oldest.bytes == 0) room.freed.pop_front();
    }
  }

  void release(ReplicaId tensor) {
    if (--readers_left_[tensor.index()] > 0) return;
    const ReplicaSpec& spec = plan_.replicas[tensor.index()];
    Room& room = rooms_[spec.memory.index()];
    if (!room.is_tight) return;
    room.freed.push_back({tensor, bytes_of(spec)});
    room.reusable += bytes_of(spec);
  }

  // `writer` waits for all readers of `gone`. On a route the first transfer waits, as the others
  // count notices as chunks. A route visits no memory twice, so no transfer of it reads `gone`.
  void add_edges(ReplicaId gone, UnitId writer) {
    while (plan_.units[writer.index()].paced) --writer.value;
    const ItemRef ref = plan_.units[writer.index()].ref;
    const auto known = shares_[ref.resource].inputs_of(ref.item);
    for (auto read = std::lower_bound(reads_.begin(), reads_.end(), Read{gone, UnitId{0}});
         read != reads_.end() && read->tensor == gone; ++read) {
      if (read->by < window_first_) continue;
      order_.waiting.push_back(writer);
      if (std::find(known.begin(), known.end(), ReplicaId{read->by.value}) != known.end()) continue;
      check_nodes(read->by, writer);
      order_.edges.push_back({read->by, writer});
    }
  }

  void check_nodes(UnitId from, UnitId to) const {
    if (across_nodes_) return;
    const Unit& waits = plan_.units[to.index()];
    const ResourceId by = plan_.units[from.index()].ref.resource;
    if (resource_node(machine_, by) == resource_node(machine_, waits.ref.resource)) return;
    throw usage_error(
        graph_.place(waits.op),
        fmt::format("'{}' over {} would have to wait until {}, on another node, has made room",
                    graph_.name(waits.op), resource_name(machine_, waits.ref.resource),
                    resource_name(machine_, by)),
        "give the memory more, or let it hold fewer tensors at once");
  }

  [[noreturn]] void refuse(UnitId u, std::uint64_t available) const {
    const Unit& unit = plan_.units[u.index()];
    const ReplicaSpec& made = plan_.replicas[u.index()];
    const Memory& memory = machine_.memory(made.memory);
    const bool is_held = available < memory.size_bytes;
    throw NoRoom(usage_error(
        graph_.place(unit.op),
        fmt::format("'{}' on {} needs {} in {}, and {} available there{}{}", graph_.name(unit.op),
                    resource_name(machine_, unit.ref.resource), format_bytes(bytes_made_by(u)),
                    memory.name,
                    memory.size_bytes == 1  // the least that there can be
                        ? "nothing is"
                        : fmt::format("{} of its {} are", format_bytes(available),
                                      format_bytes(memory.size_bytes)),
                    is_held ? " (earlier results that are still needed hold the rest)" : "",
                    memory.size_reason.empty() ? "" : fmt::format(" ({})", memory.size_reason)),
        fmt::format("use smaller tensors or fewer at once, {}or give the memory more",
                    is_held ? "write the ops that free room before those that need it, " : "")));
  }

  const Graph& graph_;
  const Machine& machine_;
  const Plan& plan_;
  const bool across_nodes_;
  std::vector<std::uint64_t> bytes_;         // by type
  std::vector<Room> rooms_;                  // by memory
  std::vector<std::uint32_t> readers_left_;  // by replica
  std::vector<Read> reads_;                  // in order
  UnitId window_first_;                      // of the current window
  ShareTable<> shares_;                      // of that window
  RoomOrder order_;
};

}  // namespace

bool is_unlimited(const Memory& memory) {
  return memory.kind != MemoryKind::ram && memory.size_bytes == 0;
}

std::vector<std::uint64_t> bytes_in_all(const Graph& graph, const Machine& machine,
                                        const Plan& plan) {
  std::vector<std::uint64_t> of_type;
  for (const TensorType& type : graph.types()) of_type.push_back(type.bytes());
  std::vector<std::uint64_t> bytes(machine.memories.size(), 0);
  const auto add = [&](MemoryId m, std::uint64_t more) {
    bytes[m.index()] = add_sat(bytes[m.index()], more);
  };
  MemoryId memory{0};
  // Of replicas in a row in one memory: an addition to the table waits for the one before.
  std::uint64_t sum = 0;
  const std::span<const ReplicaSpec> replicas = plan.replicas.slice(0, plan.replicas.size());
  const std::size_t first = first_planned(plan);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const ReplicaSpec& r = replicas[i];
    if (i < first && r.readers == 0) continue;
    if (r.memory != memory) {
      add(memory, std::exchange(sum, 0));
      memory = r.memory;
    }
    sum = add_sat(sum, of_type[r.type]);
  }
  if (sum > 0) add(memory, sum);
  return bytes;
}

RamNeed ram_needed(const Graph& graph, const Machine& machine, const Plan& plan,
                   const PlanOptions& options) {
  std::vector<std::uint64_t> capacity;  // by type
  for (const TensorType& type : graph.types()) capacity.push_back(buffer_capacity(type.bytes()));
  std::vector<char> has_buffers;  // by memory
  std::vector<char> is_gpus;      // those buffers aren't in the host's memory
  for (std::size_t m = 0; m < machine.memories.size(); ++m) {
    const bool is_in_files =
        machine.memories[m].kind == MemoryKind::storage && !options.has_storage_in_ram;
    has_buffers.push_back(is_in_files ? 0 : 1);
    is_gpus.push_back(owning_gpu(machine, MemoryId::at(m)) != nullptr ? 1 : 0);
  }
  std::vector<char> is_on_host(graph.types().size(), 0);  // by type: buffers of it
  std::vector<char> held(plan.replicas.size(), false);
  std::vector<std::uint64_t> now(graph.types().size(), 0);  // buffers by type
  std::uint64_t bytes = 0;
  RamNeed need;
  need.buffers.resize(graph.types().size(), 0);
  const auto takes_buffer = [&](const ReplicaSpec& spec) {
    return has_buffers[spec.memory.index()] && !spec.is_adopted;
  };
  const auto hold = [&](ReplicaId replica) {
    if (held[replica.index()]) return;
    held[replica.index()] = true;
    const ReplicaSpec& spec = plan.replicas[replica.index()];
    if (!takes_buffer(spec)) return;
    need.buffers[spec.type] = std::max(need.buffers[spec.type], ++now[spec.type]);
    if (is_gpus[spec.memory.index()]) return;
    is_on_host[spec.type] = 1;
    bytes = add_sat(bytes, capacity[spec.type]);  // once at the limit, need.bytes stays there
    need.bytes = std::max(need.bytes, bytes);
  };
  const auto drop = [&](const ReplicaSpec& spec) {
    if (!takes_buffer(spec)) return;
    --now[spec.type];
    if (!is_gpus[spec.memory.index()]) bytes -= capacity[spec.type];
  };
  // Backwards, the first unit that reads a tensor is its last reader.
  for (const Plan::Result& result : plan.results) {
    if (result.is_kept) hold(result.replica);
  }
  each_unit_backwards(plan, [&](UnitId u, std::span<const ReplicaId> inputs) {
    for (const ReplicaId input : inputs) hold(input);
    TROUPE_ASSERT(held[u.index()]);  // all that is made is read or kept
    if (plan.units[u.index()].is_further) return;
    for (std::size_t k = u.index(); k < plan.outputs_end(u); ++k) drop(plan.replicas[k]);
  });
  // A run reserves at least one buffer of each size.
  std::set<std::uint64_t> sizes;
  for (std::size_t t = 0; t < capacity.size(); ++t) {
    if (is_on_host[t]) sizes.insert(capacity[t]);
  }
  need.bytes =
      std::max(need.bytes, std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}, add_sat));
  return need;
}

bool is_any_tight(const Graph& graph, const Machine& machine, const Plan& plan) {
  const std::vector<bool> tight = tight_memories(graph, machine, plan);
  return std::find(tight.begin(), tight.end(), true) != tight.end();
}

RoomOrder order_by_memory(const Graph& graph, const Machine& machine, const Plan& plan,
                          bool across_nodes) {
  return MemoryOrder(graph, machine, plan, across_nodes).play();
}

}  // namespace troupe
