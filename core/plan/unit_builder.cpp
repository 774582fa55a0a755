#include "core/plan/unit_builder.hpp"

#include "core/base/assert.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace troupe {
namespace {

// The index of a value, if it is one of the last few.
template <class T>
std::optional<std::uint32_t> find_recent(const std::vector<T>& values, const T& wanted) {
  constexpr std::size_t lookback = 16;
  const std::size_t oldest = values.size() - std::min(values.size(), lookback);
  for (std::size_t i = values.size(); i-- > oldest;) {
    if (values[i] == wanted) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

// Of few sizes, mostly.
std::uint32_t move_in(Share& s, const Share::Move& move) {
  if (const auto known = find_recent(s.moves, move)) return *known;
  s.moves.push_back(move);
  return static_cast<std::uint32_t>(s.moves.size() - 1);
}

}  // namespace

void UnitBuilder::add_window(const WindowOps& ops) {
  const std::uint32_t number = next_window_++;
  home_.grow_to(graph_.size(), ReplicaId::none());
  std::fill(share_of_.begin(), share_of_.end(), nullptr);
  read_again_.clear();
  class_kernels_.resize(graph_.classes().size());
  first_ = UnitId::at(plan_.units.size());
  Window& window = plan_.windows.emplace_back();
  window.number = number;
  window.shares.reserve(share_of_.size());  // share_of_ points to its elements
  window.timed = ops.timed;
  window.first = first_;
  if (ops.timed && !plan_.first_timed) plan_.first_timed = first_;
  ops_left_ = ops.ops.size();
  reserve_shares(ops.ops);
  reserve_units(ops_left_);
  for (const OpId op : ops.ops) {
    if (const Placement where = placements_.of(op); where.memory) {
      add_copy(op, where.memory);
    } else {
      add_kernel(op, where.device);
    }
    --ops_left_;
  }
  prefault_.reset();
  window.items = plan_.units.size() - first_.index();
}

const ReplicaSpec& UnitBuilder::add_given(OpId op, MemoryId memory) {
  const ReplicaId added = ReplicaId::at(plan_.replicas.size());
  plan_.units.push_back({.ref = {}, .op = op, .makes_result = true});
  ReplicaSpec& made = plan_.replicas.emplace_back();
  made.memory = memory;
  made.type = graph_.type_index(op);
  made.readers = 1;
  add_existing(op, added);
  return made;
}

bool UnitBuilder::has_existing_values(OpId op) const {
  try {
    return existing_of(graph_.kind(op), graph_.attrs(op)) != nullptr;
  } catch (const Error& error) {
    throw error.at(graph_.place(op));
  }
}

void UnitBuilder::add_existing(OpId op, ReplicaId replica) {
  home_.grow_to(graph_.size(), ReplicaId::none());
  const MemoryId memory = plan_.replicas[replica.index()].memory;
  if (!home_[op.index()]) {
    home_[op.index()] = replica;
  } else if (!known_replica(op, memory)) {
    elsewhere_.add(op, memory, replica);
  }
}

void UnitBuilder::forget_before(OpId op) {
  home_.forget_before(op.index());
  elsewhere_.forget_before(op);
}

// In a plan for many nodes, links have half of the items: what their arrays don't use would be as
// much as a fifth of the plan.
void UnitBuilder::finish() {
  elsewhere_ = ReplicaTable();
  for (Window& window : plan_.windows) {
    for (auto& [resource, share] : window.shares) {
      if (share.item_room != nullptr) continue;
      share.items.shrink_to_fit();
      share.inputs.shrink_to_fit();
      share.chunks.shrink_to_fit();
    }
  }
}

// Reserves the items and inputs of the devices' shares.
void UnitBuilder::reserve_shares(const OpRanges& ops) {
  struct Size {
    std::size_t items = 0;
    std::size_t inputs = 0;
  };
  std::vector<Size> sizes(machine_.devices.size());
  Size* size = nullptr;  // of the device that computes the op; null: not looked up yet
  std::uint32_t op_class = 0;
  std::size_t inputs = 0;
  for (const OpId op : ops) {
    if (size == nullptr || graph_.class_index(op) != op_class) {
      op_class = graph_.class_index(op);
      inputs = graph_.op_class(op).input_types.size();
      const Placement where = placements_.of(op);
      size = where.memory ? nullptr : &sizes[where.device.index()];
      if (size == nullptr) continue;
    }
    ++size->items;
    size->inputs += inputs;
    if (!is_given(placements_.given(op))) size = nullptr;
  }
  std::size_t bytes = 0;
  for (const Size& known : sizes) {
    if (known.items == 0) continue;
    bytes += Arena::room_for((known.items + 1) * sizeof(Share::Item)) +
             Arena::room_for(known.inputs * sizeof(ReplicaId));
  }
  const std::shared_ptr<Arena> room = arenas_->take(bytes);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].items == 0) continue;
    Share& s = share(ResourceId::at(d));
    s.item_room = room;
    s.items = vector_in<Share::Item>(*room, sizes[d].items + 1);
    s.items.emplace_back();
    s.inputs = vector_in<ReplicaId>(*room, sizes[d].inputs);
  }
}

// Reserves memory for `count` more units. A second thread populates it while units are added.
void UnitBuilder::reserve_units(std::size_t count) {
  prefault_.reset();  // must end before the arrays are reallocated
  plan_.units.reserve(count);
  plan_.replicas.reserve(count);
  std::vector<Prefault::Bytes> arrays = {plan_.units.unfilled(), plan_.replicas.unfilled()};
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    // Other shares have no memory reserved: their arrays are reallocated while they are filled.
    if (share_of_[d] == nullptr || share_of_[d]->item_room == nullptr) continue;
    arrays.push_back(unfilled(share_of_[d]->items));
    arrays.push_back(unfilled(share_of_[d]->inputs));
  }
  prefault_.emplace(std::move(arrays));
}

// Makes sure that there is room for the remaining ops and for `transfers` more units.
void UnitBuilder::make_room(std::size_t transfers) {
  const std::size_t wanted = ops_left_ + transfers;
  if (plan_.units.has_room(wanted) && plan_.replicas.has_room(wanted)) return;
  reserve_units(wanted);
}

Share& UnitBuilder::add_share(ResourceId r) {
  Window& window = plan_.windows.back();
  Share& added = window.shares.emplace_back(r, Share{}).second;
  added.window = window.number;
  added.timed = window.timed;
  share_of_[r.index()] = &added;
  return added;
}

// Appends `input` to the inputs of the next item of `s`, and counts that item as a reader.
// Forced inlining, here and of add_unit(), saves a fifth of the instructions.
[[gnu::always_inline]] inline void UnitBuilder::read(ReplicaId input, ResourceId r, Share& s,
                                                     std::uint32_t& waits_for) {
  s.inputs.push_back(input);
  ReplicaSpec& spec = plan_.replicas[input.index()];
  ++spec.readers;
  const UnitId maker = maker_of(input);
  if (maker < first_) {
    read_earlier(input, r);
    return;
  }
  const ItemRef from = plan_.units[maker.index()].ref;
  Share* there = &s;
  if (from.resource != r) {
    spec.is_private = false;
    there = share_of_[from.resource.index()];
  }
  ++there->items[from.item].first_successor;
  ++waits_for;
}

// `input` was made in an earlier window, whose units may have been forgotten.
void UnitBuilder::read_earlier(ReplicaId input, ResourceId r) {
  const std::size_t maker = maker_of(input).index();
  if (!plan_.units.holds(maker) || plan_.units[maker].ref.resource != r) {
    plan_.replicas[input.index()].is_private = false;
  }
  read_again_.push_back(input);
}

// Adds an item to `s`, with the inputs read since the last one, and its unit to the plan.
[[gnu::always_inline]] inline Share::Item& UnitBuilder::add_unit(ResourceId r, Share& s, Unit unit,
                                                                 std::uint32_t waits_for,
                                                                 MemoryId target) {
  const UnitId id = UnitId::at(plan_.units.size());
  unit.ref = {r, s.size()};
  Share::Item& item = s.add_item();
  item.unit = id;
  item.waits_for = waits_for;
  plan_.units.push_back(unit);
  // Written in place: copying a spec that was just stored would stall on that store.
  ReplicaSpec& made = plan_.replicas.emplace_back();
  made.memory = target;
  made.type = graph_.type_index(unit.op);
  made.is_private = true;
  return item;
}

// Returns the index of `op` in its group. Ops come in graph order, so the group is mostly the one
// found last.
inline std::uint32_t UnitBuilder::index_of(OpId op) {
  if (op < group_first_ || op >= group_end_) {
    const Group& group = graph_.group(graph_.group_of(op));
    group_first_ = group.first;
    group_end_ = OpId{group.first.value + group.count};
    group_outputs_ = group.outputs;
  }
  const std::uint32_t place = op.value - group_first_.value;
  return group_outputs_ == 1 ? place : place / group_outputs_;
}

// Returns the index into s.kernels. Mostly there are few op classes, and the kernel is known.
inline std::uint32_t UnitBuilder::kernel_in(Share& s, DeviceId device, OpId op) {
  ClassKernel& known = class_kernels_[graph_.class_index(op)];
  if (known.window != s.window || known.device != device) {
    known = {s.window, device, find_kernel(s, device, op)};
  }
  return known.kernel;
}

void UnitBuilder::add_kernel(OpId op, DeviceId device) {
  const MemoryId memory = machine_.device(device).memory;
  const ResourceId r = resource(device);
  Share& s = share(r);
  std::uint32_t waits_for = 0;
  for (const OpId input : graph_.inputs(op)) {
    const ReplicaId home = home_[input.index()];
    const bool is_here = plan_.replicas[home.index()].memory == memory;
    read(is_here ? home : replica_in(input, memory, op), r, s, waits_for);
  }
  Share::Item& item =
      add_unit(r, s, {.ref = {}, .op = op, .makes_result = true}, waits_for, memory);
  item.work = kernel_in(s, device, op);
  item.index = index_of(op);
  home_[op.index()] = ReplicaId{item.unit.value};
  const Share::Kernel& kernel = s.kernels[item.work];
  if (kernel.adopts) plan_.replicas.back().is_adopted = true;
  if (kernel.is_further) {
    const UnitId maker = maker_of(home_[graph_.maker(op).index()]);
    TROUPE_ASSERT(item.unit.value == maker.value + graph_.output_number(op));
    plan_.units.back().is_further = true;
    item.is_further = true;
    if (s.timed) ++plan_.timed_further;
  }
  count_time(kernel.expected);
}

std::uint32_t UnitBuilder::find_kernel(Share& s, DeviceId device, OpId op) {
  std::vector<std::uint32_t>& classes = kernel_classes_[device.index()];
  if (s.kernels.empty()) classes.clear();
  const std::uint32_t op_class = graph_.class_index(op);
  if (const auto known = find_recent(classes, op_class)) return *known;
  const OpClass& known = graph_.op_class(op);
  const OpKind& kind = graph_.kind(op);
  const Attrs& attrs = graph_.attrs(op);
  const bool is_further = known.output > 0;
  const bool is_needless =
      options_.needs_costs && placements_.is_needless(op) && !cost_.knows(device, graph_, known);
  // What is larger than the host's memory is refused like a tensor that needs a buffer.
  const bool has_existing = options_.ram_bytes && kind.existing != nullptr && !is_further &&
                            graph_.type(op).bytes() <= *options_.ram_bytes &&
                            is_host_ram(machine_, machine_.device(device).memory) &&
                            has_existing_values(op);
  s.kernels.push_back(
      {.kind = known.kind,
       .attrs = &attrs,
       .expected =
           is_free() || is_further || is_needless ? Duration{0} : cost_.op(device, graph_, known),
       .in_place_of = is_further ? std::nullopt : kind.in_place_of,
       .adopts = has_existing,
       .further = known.further,
       .is_further = is_further,
       .is_plain = !kind.in_place_of && !has_existing && known.further == 0 && !is_further});
  classes.push_back(op_class);
  return static_cast<std::uint32_t>(s.kernels.size() - 1);
}

// A copy within a memory is computed by a device; where none can, as in storage, it goes by way of
// a neighbour. A copy between memories is a row of transfers.
void UnitBuilder::add_copy(OpId op, MemoryId target) {
  const OpId source = graph_.inputs(op)[0];
  ReplicaId from = home_[source.index()];
  if (const ReplicaId local = known_replica(source, target); local) {
    if (const DeviceId device = copier_at(target, op); device) {
      add_kernel(op, device);
      return;
    }
  }
  if (plan_.replicas[from.index()].memory == target) {
    const MemoryId neighbour = nearest_memory(machine_, target);
    if (!neighbour) {
      throw usage_error(
          graph_.place(op),
          fmt::format("'{}' copies within {}, where no device has a kernel for '{}', "
                      "and which has no link",
                      graph_.name(op), machine_.memory(target).name, graph_.kind(op).name),
          "copy to another memory");
    }
    from = replica_in(source, neighbour, op);
  }
  home_[op.index()] = add_transfers(source, from, target, op, true);
}

// Returns none if no device of this memory can copy within it.
DeviceId UnitBuilder::copier_at(MemoryId memory, OpId op) const {
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    const DeviceId device = DeviceId::at(d);
    if (machine_.device(device).memory != memory) continue;
    if (placements_.can_run(device, op, !is_free())) return device;
  }
  return DeviceId::none();
}

ReplicaId UnitBuilder::known_replica(OpId op, MemoryId memory) const {
  const ReplicaId home = home_[op.index()];
  if (plan_.replicas[home.index()].memory == memory) return home;
  return elsewhere_.find(op, memory);
}

ReplicaId UnitBuilder::replica_in(OpId tensor, MemoryId memory, OpId reader) {
  if (const ReplicaId known = known_replica(tensor, memory); known) return known;
  const ReplicaId moved = add_transfers(tensor, home_[tensor.index()], memory, reader, false);
  elsewhere_.add(tensor, memory, moved);
  return moved;
}

// Adds the transfers that bring `tensor` from a replica to `target` for `reader`. With `ends_copy`,
// the last one makes the result of `reader`. The replicas in memories on the way, but not in
// switches, serve later readers, too.
ReplicaId UnitBuilder::add_transfers(OpId tensor, ReplicaId at, MemoryId target, OpId reader,
                                     bool ends_copy) {
  const MemoryId source = plan_.replicas[at.index()].memory;
  const Route* whole_route = router_.route(source, target);
  if (whole_route == nullptr) {
    throw usage_error(graph_.place(reader),
                      fmt::format("'{}' needs '{}' in {}, and there is no route from {}",
                                  graph_.name(reader), graph_.name(tensor),
                                  machine_.memory(target).name, machine_.memory(source).name),
                      "add a link between them to the machine, or place the op elsewhere");
  }
  std::span<const Hop> route = *whole_route;
  for (std::size_t h = route.size(); h-- > 1;) {
    const Hop& hop = route[h];
    const ReplicaId on_the_way =
        known_replica(tensor, machine_.link(hop.link).source(hop.direction));
    if (!on_the_way) continue;
    at = on_the_way;
    route = route.subspan(h);
    break;
  }
  const std::uint64_t bytes = graph_.type(tensor).bytes();
  const std::uint16_t chunks = chunk_count(machine_, route, bytes);
  make_room(route.size());
  for (std::size_t h = 0; h < route.size(); ++h) {
    const Hop& hop = route[h];
    const Link& link = machine_.link(hop.link);
    const MemoryId next = link.target(hop.direction);
    const bool is_last = h + 1 == route.size();
    const bool makes_result = is_last && ends_copy;
    const ResourceId r = resource(hop.link);
    Share& s = share(r);
    std::uint32_t waits_for = 0;
    read(at, r, s, waits_for);
    Share::Item& item = add_unit(r, s,
                                 {.ref = {},
                                  .op = makes_result ? reader : tensor,
                                  .transfer = true,
                                  .makes_result = makes_result,
                                  .paced = h > 0,
                                  .chunks = chunks},
                                 waits_for, next);
    Share::Move move{.bytes = bytes,
                     .chunks = chunks,
                     .direction = hop.direction,
                     .paced = h > 0,
                     .paces = !is_last};
    if (!is_free()) move.expected = cost_.transfer(hop.link, hop.direction, bytes);
    item.work = move_in(s, move);
    item.index = index_of(tensor);
    s.chunks.emplace_back();
    at = s.output(s.size() - 1);
    count_time(move.expected.total());
    const bool stays = machine_.memory(next).kind != MemoryKind::network;
    if (!is_last && stays) elsewhere_.add(tensor, next, at);
  }
  return at;
}

}  // namespace troupe
