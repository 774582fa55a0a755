// What one actor has to do in one window: its part of the graph as flat arrays, dependencies
// included.
#pragma once

#include "core/base/big_vector.hpp"
#include "core/base/id.hpp"
#include "core/base/time.hpp"
#include "core/cost/transfer_cost.hpp"
#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/op_kind.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
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
// An item of some window.
struct WindowItem {
  std::uint32_t window = 0;
  ItemRef ref;
};

// An item may start when it has been notified waits_for times. Items of a link stand in unit order,
// those of a device in the order of their priority: the longest way to the end of the graph first,
// then unit order.
struct Share {
  static constexpr Instant never = Instant::min();

  // All that is said of an item by itself lies together, what becomes of it included: carrying it
  // out takes a cache line or two, and a device's items are mostly met in their order.
  struct Item {
    UnitId unit;
    std::uint32_t waits_for = 0;
    std::uint32_t first_input = 0;      // of inputs; they end where the next item's begin
    std::uint32_t first_successor = 0;  // of successors, likewise
    std::uint32_t kernel = 0;           // of kernels, on devices
    std::uint32_t index = 0;            // of the op in its group, on devices
    std::uint16_t lane = 0;             // that carried it out
    bool has_late = false;              // something in a later window waits for it
    Instant start = never;              // when that began and ended
    Instant end = never;

    bool finished() const { return end != never; }
  };

  // An item of this share, or one elsewhere (or an arrival): an entry of `elsewhere`.
  struct Successor {
    static constexpr std::uint32_t elsewhere_bit = 0x8000'0000;
    std::uint32_t value = 0;

    bool is_elsewhere() const { return (value & elsewhere_bit) != 0; }
    std::uint32_t place() const { return value & ~elsewhere_bit; }
  };

  std::uint32_t window = 0;
  bool timed = true;  // false: prepared before the clock starts, not recorded

  BigVector<Item> items = {Item{}};  // and one at the end that is none
  BigVector<Successor> successors;
  BigVector<ReplicaId> inputs;  // a transfer has one
  std::vector<ItemRef> elsewhere;

  // Devices: what to compute. Ops of one class have one.
  struct Kernel {
    OpKindId kind;
    Attrs attrs;
    Duration expected{0};  // by the cost model
    bool is_long = true;   // it took longer than a message the last time, as far as is known
  };
  std::vector<Kernel> kernels;

  // What several items here wait for of one unit elsewhere, that one tells once. In unit order.
  std::vector<std::uint32_t> first_arrival = {0};  // one more than there are arrivals
  std::vector<std::uint32_t> arrivals;             // items

  std::vector<std::uint32_t> first_items;  // in order: those that nothing in this window precedes

  // Items of earlier windows of this actor that items of this window wait for, here or elsewhere.
  struct LateEdge {
    std::uint32_t window;
    std::uint32_t item;
    ItemRef to;
  };
  std::vector<LateEdge> late;

  // Links: what to move, for every item. On a route of several links a transfer is cut into chunks;
  // each chunk that one link has delivered is a notice to the next.
  struct Move {
    std::uint64_t bytes = 0;
    TransferCost expected = {};  // by the cost model
    std::uint32_t chunks = 1;
    Direction direction = Direction::forward;
    bool paced = false;  // chunks arrive one by one from the link before
    bool paces = false;  // the first successor is this tensor on the next link

    // What became of it.
    std::uint32_t chunks_here = 0;                  // may move
    std::uint32_t chunks_moved = 0;                 // have moved
    std::uint32_t shortest_chunk_ns = 0xFFFF'FFFF;  // saturates
    Duration busy{0};  // less than from start to end where it waited for chunks
  };
  std::vector<Move> moves;

  // Where the items and inputs of all shares of the window lie side by side, and their successors,
  // as far as their number was known. A share can be moved, or copied to a new one that has no part
  // of this; assigning a copy would leave the arrays behind.
  std::shared_ptr<Arena> item_room;
  std::shared_ptr<Arena> successor_room;

  Share() = default;
  Share(const Share&) = default;
  Share(Share&&) = default;
  Share& operator=(const Share&) = delete;
  Share& operator=(Share&&) = default;
  ~Share() = default;

  std::uint32_t size() const { return static_cast<std::uint32_t>(items.size() - 1); }
  // What an item makes: replicas are numbered with the units that make them.
  ReplicaId output(std::uint32_t item) const { return ReplicaId{items[item].unit.value}; }
  std::span<const ReplicaId> inputs_of(std::uint32_t item) const {
    const std::uint32_t first = items[item].first_input;
    return {inputs.data() + first, items[item + 1].first_input - first};
  }
  std::span<const Successor> successors_of(std::uint32_t item) const {
    const std::uint32_t first = items[item].first_successor;
    return {successors.data() + first, items[item + 1].first_successor - first};
  }
  std::span<const std::uint32_t> items_of_arrival(std::uint32_t arrival) const {
    return {arrivals.data() + first_arrival[arrival],
            first_arrival[arrival + 1] - first_arrival[arrival]};
  }
  bool is_transfer() const { return !moves.empty(); }
  // By the cost model; of a transfer without the latency.
  Duration expected(std::uint32_t item) const {
    return is_transfer() ? moves[item].expected.wire : kernels[items[item].kernel].expected;
  }
  // For how long a lane was taken by it; it must have finished.
  Duration busy(std::uint32_t item) const {
    return is_transfer() ? moves[item].busy : items[item].end - items[item].start;
  }

  // Adds an item, with the inputs that were appended since the last one and no successors yet.
  Item& add_item() {
    // In place: a copy of what was just written would wait for it.
    Item& end = items.emplace_back();
    end.first_input = static_cast<std::uint32_t>(inputs.size());
    end.first_successor = static_cast<std::uint32_t>(successors.size());
    return items[items.size() - 2];
  }
  void forget_successors() {
    successors = {};
    successor_room = {};
    elsewhere = {};
    first_arrival = {};
    arrivals = {};
  }
  // What stands for it among successors.
  Successor add_elsewhere(ItemRef item) {
    elsewhere.push_back(item);
    return {static_cast<std::uint32_t>(elsewhere.size() - 1) | Successor::elsewhere_bit};
  }
};

using ResourceShares = std::vector<std::pair<ResourceId, Share>>;

}  // namespace troupe
