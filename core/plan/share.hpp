// What one actor has to do in one window: its part of the graph as flat arrays, dependencies
// included.
#pragma once

#include "core/base/id.hpp"
#include "core/base/time.hpp"
#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/op_kind.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

// A device or a link as an actor: devices first, then links, in machine order.
using ResourceId = Id<struct ResourceTag>;

// "gpu0", "pcie0"
inline const std::string& resource_name(const Machine& machine, ResourceId resource) {
  const std::size_t r = resource.index();
  return r < machine.devices.size() ? machine.devices[r].name
                                    : machine.links[r - machine.devices.size()].name;
}

// One op or one transfer over one link: what is started, timed and recorded. Counted over the whole
// plan, dependencies before dependents.
using UnitId = Id<struct UnitTag>;

// An item of the share of an actor: one unit. Numbers from the share's size on are its arrivals.
struct ItemRef {
  ResourceId resource;
  std::uint32_t item = 0;
  friend auto operator<=>(const ItemRef&, const ItemRef&) = default;
};

// An item may start when it has been notified waits_for times. Items of a link stand in unit order,
// those of a device in the order of their priority: the longest way to the end of the graph first,
// then unit order.
struct Share {
  std::uint32_t window = 0;
  bool timed = true;  // false: prepared before the clock starts, not recorded

  // For every item:
  std::vector<UnitId> unit;
  std::vector<std::uint32_t> waits_for;
  std::vector<Duration> expected;              // by the cost model; of a transfer, without latency
  std::vector<std::uint32_t> first_successor;  // size() + 1
  std::vector<ItemRef> successors;
  // What several items here wait for of one unit elsewhere, that one tells once. In unit order.
  std::vector<std::uint32_t> first_arrival = {0};  // one more than there are arrivals
  std::vector<std::uint32_t> arrivals;             // items

  std::vector<std::uint32_t> first_input;  // size() + 1
  std::vector<ReplicaId> inputs;           // a transfer has one

  // Devices: what to compute.
  struct Kernel {
    OpKindId kind;
    Attrs attrs;
  };
  std::vector<std::uint32_t> kernel;  // for every item, into kernels
  std::vector<std::uint32_t> index;   // for every item: of its op in its group
  std::vector<Kernel> kernels;

  // Links: what to move. On a route of several links a transfer is cut into chunks; each chunk that
  // one link has delivered is a notice to the next.
  struct Move {
    std::uint64_t bytes = 0;
    std::uint32_t chunks = 1;
    Direction direction = Direction::forward;
    bool paced = false;  // chunks arrive one by one from the link before
    bool paces = false;  // the first successor is this tensor on the next link
  };
  std::vector<Move> moves;

  std::uint32_t size() const { return static_cast<std::uint32_t>(unit.size()); }
  // What an item makes: replicas are numbered with the units that make them.
  ReplicaId output(std::uint32_t item) const { return ReplicaId{unit[item].value}; }
  std::span<const ItemRef> successors_of(std::uint32_t item) const {
    return {successors.data() + first_successor[item],
            first_successor[item + 1] - first_successor[item]};
  }
  std::span<const std::uint32_t> items_of_arrival(std::uint32_t arrival) const {
    return {arrivals.data() + first_arrival[arrival],
            first_arrival[arrival + 1] - first_arrival[arrival]};
  }
  std::span<const ReplicaId> inputs_of(std::uint32_t item) const {
    return {inputs.data() + first_input[item], first_input[item + 1] - first_input[item]};
  }
};

}  // namespace troupe
