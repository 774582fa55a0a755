// Which devices an op may be placed on so that its tensors can get there and to its readers.
#pragma once

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/windows.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace troupe {

// Links carry tensors in both directions. Memories that are joined by links, directly or over other
// memories, are therefore an island: tensors reach all of it and nothing else. Ops without a
// placement that read each other are a cluster: all of a cluster must be on one island, that of the
// placed ops around it. On a machine that is one island everything is allowed, at no cost.
class Reachability {
 public:
  // What is known of the ops to plan.
  struct Ops {
    const Graph& graph;
    const std::vector<WindowOps>& windows;
    // The memory of an op that has a placement, else none. Inputs of no window have one.
    std::function<MemoryId(OpId)> memory_of;
    // The same for all ops of a class that are timed, and for all that are not.
    std::function<bool(DeviceId, OpId, bool timed)> can_run;
  };

  // `machine` must outlive it.
  explicit Reachability(const Machine& machine);

  // Forgets the ops known so far and looks at these. Throws a usage Error, with an op's place, if
  // no island has devices for all ops of a cluster. An op that no device at all can run is let
  // pass.
  void enter(const Ops& ops);

  // Whether the machine is one island.
  bool allows_all() const { return island_count_ <= 1; }
  // Of an op without a placement: whether the cluster may be on this device's island.
  bool allows(OpId op, DeviceId device) const {
    return clusters_.empty() || islands_of(op)[island_of(device)];
  }
  // From now on the cluster may be on this device's island only.
  void choose(OpId op, DeviceId device) {
    if (!clusters_.empty()) set_of_[cluster_of(op)] = only(island_of(device));
  }

 private:
  using Island = std::uint32_t;
  using Islands = std::vector<bool>;  // by island
  using IslandsId = std::uint32_t;    // equal sets are stored once

  // Sets that are united; each is known by one of its elements.
  class DisjointSets {
   public:
    bool empty() const { return parents_.empty(); }
    void reset(std::size_t count);
    std::uint32_t find(std::uint32_t element);
    void unite(std::uint32_t a, std::uint32_t b) { parents_[find(b)] = find(a); }

   private:
    std::vector<std::uint32_t> parents_;
  };

  Island island_of(MemoryId memory) const { return island_of_memory_[memory.index()]; }
  Island island_of(DeviceId device) const { return island_of(machine_.device(device).memory); }
  std::uint32_t cluster_of(OpId op) const {
    return clusters_.find(static_cast<std::uint32_t>(op.index() - first_.index()));
  }
  const Islands& islands_of(OpId op) const { return islands_[set_of_[cluster_of(op)]]; }

  IslandsId store(const Islands& islands);
  IslandsId only(Island island);
  IslandsId both(IslandsId a, IslandsId b);
  void narrow(OpId op, IslandsId islands);
  Islands where_it_can_run(const Ops& ops, OpId op, bool timed) const;
  void enter_window(const Ops& ops, const WindowOps& window);
  [[noreturn]] void refuse(const Ops& ops, OpId op) const;
  [[noreturn]] void refuse_tied(const Ops& ops, OpId op, OpId placed) const;

  const Machine& machine_;
  std::vector<Island> island_of_memory_;
  std::size_t island_count_ = 0;

  OpId first_;                          // in the order of the graph
  mutable DisjointSets clusters_;       // of ops, from first_ on; find() shortens its paths
  std::vector<IslandsId> set_of_;       // by cluster: where all of it can be
  std::vector<Islands> islands_;        // distinct ones
  std::map<Islands, IslandsId> known_;  // in islands_
  std::map<std::pair<IslandsId, IslandsId>, IslandsId> known_both_;
};

}  // namespace troupe
