// The work of one actor in one window: its items and their dependencies, as flat arrays.
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
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

// A device or a link. Devices are numbered first, then links, both in machine order.
using ResourceId = Id<struct ResourceTag>;

// "gpu0", "pcie0"
inline const std::string& resource_name(const Machine& machine, ResourceId resource) {
  const std::size_t r = resource.index();
  return r < machine.devices.size() ? machine.devices[r].name
                                    : machine.links[r - machine.devices.size()].name;
}
// The node that it belongs to; none where the machine has no nodes.
inline NodeId resource_node(const Machine& machine, ResourceId resource) {
  const std::size_t devices = machine.devices.size();
  return resource.index() < devices ? machine.devices[resource.index()].node
                                    : machine.links[resource.index() - devices].node;
}

// A link that joins nodes, or a node to what joins them.
inline bool is_network_link(const Machine& machine, ResourceId resource) {
  const std::size_t devices = machine.devices.size();
  return resource.index() >= devices &&
         is_network_link(machine, machine.links[resource.index() - devices]);
}

// One op, or one transfer over one link: the unit that is started, timed and recorded. Numbered
// over the whole plan; a unit has a higher number than the units it depends on.
using UnitId = Id<struct UnitTag>;

// What a finished unit counts down in the share of a resource: an item, or, for several items with
// one notice, an arrival (see Share::arrivals). In a share of n items, `item` is 0 … n - 1 for an
// item, and n + k for arrival k.
struct ItemRef {
  ResourceId resource;
  std::uint32_t item = 0;
  friend auto operator<=>(const ItemRef&, const ItemRef&) = default;
};
// An item and its window.
struct WindowItem {
  std::uint32_t window = 0;
  ItemRef ref;
};

// An item may start once all its dependencies are satisfied: `waits_for` counts them down to 0. The
// items of a link are in unit order. The items of a device are in order of priority
// (share_links.hpp): mostly in unit order, but first those from which the way to the end is much
// longer.
struct Share {
  static constexpr Instant never = Instant::min();

  // An item and its record. Both are stored together: executing an item then touches one or two
  // cache lines, and a device mostly executes its items in this order.
  struct Item {
    UnitId unit;
    std::uint32_t waits_for = 0;
    std::uint32_t first_input = 0;      // into `inputs`; the end is the next item's first_input
    std::uint32_t first_successor = 0;  // into `successors`, likewise
    std::uint32_t work = 0;             // into `kernels`, or of a link into `moves`
    std::uint32_t index = 0;            // of the op in its group, or of the op whose tensor moves
    std::uint16_t track = 0;            // the stream or direction that executed the item
    bool has_late = false;              // an item of a later window waits for this one
    bool is_further = false;            // a further output of another item: nothing is left to do
    bool is_issued = false;             // before its inputs were done, and by resources that do so
    bool frees_result = false;          // nobody reads what it makes; devices only
    Instant start = never;
    Instant end = never;

    bool finished() const { return end != never; }
  };

  // An item of this share; or, with elsewhere_bit, an entry of `elsewhere`: an item or an arrival
  // of another share.
  struct Successor {
    static constexpr std::uint32_t elsewhere_bit = 0x8000'0000;
    static constexpr std::uint32_t room_bit = 0x4000'0000;
    std::uint32_t value = 0;

    bool is_elsewhere() const { return (value & elsewhere_bit) != 0; }
    // It waits for room in a memory: it is notified when this item is done, since what this item
    // reads is freed only then, and not when this item is issued.
    bool waits_for_room() const { return (value & room_bit) != 0; }
    std::uint32_t place() const { return value & ~(elsewhere_bit | room_bit); }
  };

  std::uint32_t window = 0;
  bool timed = true;  // false: prepared before the clock starts, not recorded

  BigVector<Item> items = {Item{}};  // ends with a sentinel, which is not an item
  BigVector<Successor> successors;
  BigVector<ReplicaId> inputs;  // a transfer has one
  std::vector<ItemRef> elsewhere;

  // How long an op takes.
  enum class Length : std::uint8_t {
    brief,    // no longer than a message
    medium,   // so that a message may wait for its end
    lengthy,  // so that others go on with what this thread has helped them with
  };
  // What a device computes. Ops of one class share a kernel.
  struct Kernel {
    OpKindId kind;
    const Attrs* attrs = nullptr;                  // of the graph
    Duration expected{0};                          // by the cost model
    Length length = Length::lengthy;               // of the last execution, once there was one
    std::optional<std::uint8_t> in_place_of = {};  // as in OpKind
    bool adopts = false;                           // OpKind::existing has values
    std::uint16_t further = 0;  // outputs of the units behind its own, which it writes, too
    bool is_further = false;    // the items are such outputs
    bool is_plain = true;       // nothing of these four: one test for nearly all kernels
  };
  std::vector<Kernel> kernels;

  // Several items of this share may depend on the same unit of another resource. That resource then
  // sends one notice for all of them, called an arrival.
  std::vector<std::uint32_t> first_arrival = {0};  // into `arrivals`; one entry more than arrivals
  std::vector<std::uint32_t> arrivals;             // items of this share

  std::vector<std::uint32_t> first_items;  // items without dependencies in this window, ascending

  // An item of this window, `to` (in any share), depends on `item` of an earlier window of this
  // resource. Or `item`, which may then be of this window, too, is watched: `to` is the item
  // without a resource, and the coordinator is notified.
  struct LateEdge {
    std::uint32_t window;
    std::uint32_t item;
    ItemRef to;
  };
  std::vector<LateEdge> late;

  // What a link moves. Transfers that are alike share a move. On a route of several links a
  // transfer is cut into chunks. For each chunk that a link has delivered it sends one notice to
  // the next link.
  struct Move {
    std::uint64_t bytes = 0;
    TransferCost expected = {};  // by the cost model
    std::uint16_t chunks = 1;
    Direction direction = Direction::forward;
    bool paced : 1 = false;  // receives its chunks one by one from the previous link of the route
    bool paces : 1 = false;  // the first successor is the same tensor's transfer on the next link

    friend bool operator==(const Move&, const Move&) = default;
  };
  std::vector<Move> moves;

  // How far the transfer of an item is, and its record. Of a link, one entry for each item.
  struct Chunks {
    std::uint16_t here = 0;   // have arrived, and may move
    std::uint16_t begun = 0;  // are moving, or have moved
    std::uint16_t moved = 0;
    std::uint32_t shortest_ns = 0xFFFF'FFFF;  // saturates
    Duration busy{0};  // less than end - start if the transfer waited for chunks
  };
  std::vector<Chunks> chunks;

  // Memory in which the arrays of all shares of the window lie next to each other: items and inputs
  // in one, successors in the other. Only arrays whose size was known in advance use it. The copy
  // constructor copies the arrays to memory of their own. Copy assignment is deleted, because it
  // would drop the arena while the arrays still use it.
  std::shared_ptr<Arena> item_room;
  std::shared_ptr<Arena> successor_room;

  Share() = default;
  Share(const Share&) = default;
  Share(Share&&) = default;
  Share& operator=(const Share&) = delete;
  Share& operator=(Share&&) = default;
  ~Share() = default;

  std::uint32_t size() const { return static_cast<std::uint32_t>(items.size() - 1); }
  // The replica that an item makes: it has the number of the item's unit.
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
  bool is_transfer() const { return !chunks.empty(); }
  const Move& move(std::uint32_t item) const { return moves[items[item].work]; }
  // By the cost model. A transfer's latency is not included.
  Duration expected(std::uint32_t item) const {
    return is_transfer() ? move(item).expected.wire : kernels[items[item].work].expected;
  }
  // How long the item occupied a stream or direction. The item must have finished.
  Duration busy(std::uint32_t item) const {
    return is_transfer() ? chunks[item].busy : items[item].end - items[item].start;
  }

  // Adds an item. Its inputs are those appended to `inputs` since the previous call; it has no
  // successors yet.
  Item& add_item() {
    // Written in place: copying an item that was just stored would stall on that store.
    Item& end = items.emplace_back();
    end.first_input = static_cast<std::uint32_t>(inputs.size());
    end.first_successor = static_cast<std::uint32_t>(successors.size());
    return items[items.size() - 2];
  }
  void forget_successors() {
    // Not `= {}`, which keeps a vector's memory.
    successors = decltype(successors)();
    successor_room = nullptr;
    elsewhere = decltype(elsewhere)();
    first_arrival = decltype(first_arrival)();
    arrivals = decltype(arrivals)();
  }
  // Returns the entry for `successors` that refers to `item` of another share.
  Successor add_elsewhere(ItemRef item) {
    elsewhere.push_back(item);
    return {static_cast<std::uint32_t>(elsewhere.size() - 1) | Successor::elsewhere_bit};
  }
};

using ResourceShares = std::vector<std::pair<ResourceId, Share>>;

}  // namespace troupe
