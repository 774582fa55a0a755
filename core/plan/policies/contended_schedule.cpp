#include "core/plan/policies/contended_schedule.hpp"

#include "core/base/assert.hpp"
#include "core/plan/policies/transfer_times.hpp"
#include "core/plan/share_links.hpp"

#include <algorithm>

namespace troupe {

ContendedSchedule::ContendedSchedule(const PlacementRequest& request, std::size_t size_max)
    : r_(request), times_(request) {
  inputs_begin_.push_back(0);
  std::size_t size = 0;
  std::size_t inputs = 0;
  for (; size < r_.ops.size(); ++size) {
    inputs += r_.graph.inputs(r_.ops[size]).size();
    if (size + 1 + inputs > size_max) break;
  }
  const OpPositions positions(r_.ops.first(size));
  first_output_.assign(size, none);
  for (std::size_t i = 0; i < size; ++i) {
    for (const OpId input : r_.graph.inputs(r_.ops[i])) {
      const Index maker = positions.of(r_.graph.maker(input));
      Index& number = maker != none && r_.graph.output_number(input) == 0
                          ? first_output_[maker]
                          : further_.try_emplace(input, none).first->second;
      if (number == none) {
        number = static_cast<Index>(tensors_.size());
        tensors_.push_back({input, maker, maker == none ? r_.home(input) : MemoryId::none()});
      }
      inputs_.push_back(number);
    }
    inputs_begin_.push_back(inputs_.size());
  }
  for (const std::size_t wait : r_.waits) {
    if (wait < size) window_ends_.push_back(wait);
  }
  window_ends_.push_back(size);
  find_reads();
}

void ContendedSchedule::find_reads() {
  const auto for_each = [this](const auto& use) {
    std::size_t first = 0;
    for (const std::size_t last : window_ends_) {
      for (std::size_t i = first; i < last; ++i) {
        for (const Index t : inputs(i)) {
          const Index maker = tensors_[t].maker;
          if (maker != none && maker >= first) use(maker, static_cast<Index>(i), t);
        }
      }
      first = last;
    }
  };
  // Each count stands one further on than where it is needed, until reads have moved it there.
  reads_begin_.assign(size() + 2, 0);
  for_each([this](Index maker, Index, Index) { ++reads_begin_[maker + 2]; });
  for (std::size_t i = 1; i < reads_begin_.size(); ++i) reads_begin_[i] += reads_begin_[i - 1];
  reads_.resize(reads_begin_.back());
  for_each([this](Index maker, Index reader, Index tensor) {
    reads_[reads_begin_[maker + 1]++] = {reader, tensor};
  });
  reads_begin_.pop_back();
}

// Notes where the ops are.
void ContendedSchedule::settle(std::span<const DeviceId> devices) {
  device_.assign(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(size()));
  memory_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    memory_[i] = device_[i] ? r_.machine.device(device_[i]).memory : r_.placement(r_.ops[i]).memory;
  }
}

bool ContendedSchedule::moves_any(std::span<const DeviceId> devices) {
  settle(devices);
  for (std::size_t i = 0; i < size(); ++i) {
    for (const Index t : inputs(i)) {
      const MemoryId home = home_of(tensors_[t]);
      if (home && memory_[i] && home != memory_[i]) return true;
    }
  }
  return false;
}

Duration ContendedSchedule::makespan(std::span<const DeviceId> devices) {
  settle(devices);
  look_up_ranks();
  end_ = Duration{0};
  waits_for_.resize(size());
  for (std::size_t i = 0; i < size(); ++i) waits_for_[i] = static_cast<Index>(inputs(i).size());
  streams_.resize(r_.machine.devices.size());
  for (std::size_t d = 0; d < streams_.size(); ++d) {
    streams_[d].free = r_.machine.devices[d].streams;
  }
  link_free_.assign(2 * r_.machine.links.size(), Duration{0});
  copies_at_ = ReplicaTable();
  copies_.clear();
  waiters_.clear();
  transfers_.clear();
  std::size_t first = 0;
  for (const std::size_t last : window_ends_) {
    run_window(first, last);
    first = last;
  }
  return end_;
}

// As those by which a device's share is in order (UnitRanks): from the beginning of each op to the
// end of all that waits for it, on idle devices and links.
void ContendedSchedule::look_up_ranks() {
  rank_.assign(size(), Duration{0});
  for (std::size_t i = size(); i-- > 0;) {
    if (device_[i]) rank_[i] = sum_of(rank_[i], times_.on(device_[i], r_.ops[i]));
    for (const Index t : inputs(i)) {
      const Tensor& tensor = tensors_[t];
      if (tensor.maker == none) continue;
      Duration rank = rank_[i];
      const MemoryId home = home_of(tensor);
      if (home && memory_[i] && home != memory_[i]) {
        for (const Hop& hop : route(home, memory_[i])) {
          const std::uint64_t bytes = r_.graph.type(tensor.op).bytes();
          rank = sum_of(rank, r_.cost.transfer(hop.link, hop.direction, bytes).total());
        }
      }
      rank_[tensor.maker] = std::max(rank_[tensor.maker], rank);
    }
  }
}

// As UnitRanks.
Duration ContendedSchedule::largest_load(std::size_t first, std::size_t last) {
  std::vector<Duration> loads(r_.machine.devices.size(), Duration{0});
  for (std::size_t i = first; i < last; ++i) {
    if (!device_[i]) continue;
    Duration& load = loads[device_[i].index()];
    load = sum_of(load, times_.on(device_[i], r_.ops[i]));
  }
  return std::ranges::max(loads);
}

// The ops first to last - 1 start, and so do transfers to them, when all before have ended.
void ContendedSchedule::run_window(std::size_t first, std::size_t last) {
  load_ = largest_load(first, last);
  now_ = end_;
  for (std::size_t i = first; i < last; ++i) {
    const auto op = static_cast<Index>(i);
    if (inputs(i).empty()) {
      ++waits_for_[i];
      count_down(op);
    }
    for (const Index t : inputs(i)) {
      const Index maker = tensors_[t].maker;
      if (maker == none || maker < first) give(t, op);
    }
  }
  start_ops();
  while (!events_.empty()) {
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time == now_) {
      const Event next = events_.top();
      events_.pop();
      handle(next);
    }
    start_ops();
  }
}

void ContendedSchedule::handle(const Event& event) {
  switch (event.what) {
    case Happens::end:
      return end(event.index);
    case Happens::arrival:
      return arrive(event.index);
    case Happens::hop:
      return move_on(event.index);
    case Happens::release:
      return touch(DeviceId::at(event.index));
  }
}

// The tensor has been made. A copy that the user asked for is a tensor of its own.
void ContendedSchedule::give(Index tensor, Index reader) {
  const Tensor& given = tensors_[tensor];
  const MemoryId home = home_of(given);
  const MemoryId here = memory_[reader];
  if (!home || !here || home == here) return count_down(reader);
  const ReplicaId known = copies_at_.find(given.op, here);
  Index copy = known ? known.value : none;
  if (copy == none) copy = send(given, here, static_cast<bool>(device_[reader]));
  if (copies_[copy].is_there) return count_down(reader);
  wait_for(copy, {none, reader, none});
}

void ContendedSchedule::wait_for(Index copy, Waiter waiter) {
  waiter.next = copies_[copy].first_waiter;
  copies_[copy].first_waiter = static_cast<Index>(waiters_.size());
  waiters_.push_back(waiter);
}

// Returns the copy that is made in the end. Unless it is kept, no other op will read it there.
ContendedSchedule::Index ContendedSchedule::send(const Tensor& tensor, MemoryId to, bool is_kept) {
  std::span<const Hop> hops = route(home_of(tensor), to);
  Index from = none;
  for (std::size_t h = hops.size(); h-- > 1 && from == none;) {
    const MemoryId on_the_way = r_.machine.link(hops[h].link).source(hops[h].direction);
    const ReplicaId known = copies_at_.find(tensor.op, on_the_way);
    if (!known) continue;
    from = known.value;
    hops = hops.subspan(h);
  }
  const auto first = static_cast<Index>(copies_.size());
  for (const Hop& hop : hops) {
    const MemoryId next = r_.machine.link(hop.link).target(hop.direction);
    const bool stays = next == to ? is_kept : r_.machine.memory(next).kind != MemoryKind::network;
    if (stays) copies_at_.add(tensor.op, next, ReplicaId::at(copies_.size()));
    copies_.emplace_back();
  }
  const auto transfer = static_cast<Index>(transfers_.size());
  const std::uint64_t bytes = r_.graph.type(tensor.op).bytes();
  transfers_.push_back({hops, chunk_count(r_.machine, hops, bytes), first, bytes, now_});
  if (from != none && !copies_[from].is_there) {
    wait_for(from, {none, none, transfer});
  } else {
    events_.push({now_, Happens::hop, transfer});
  }
  return static_cast<Index>(copies_.size() - 1);
}

std::span<const Hop> ContendedSchedule::route(MemoryId from, MemoryId to) {
  const auto [found, is_new] =
      routes_.try_emplace(std::uint64_t{from.value} << 32 | to.value, Route());
  if (is_new) {
    const bool exists = r_.router.find(from, to, found->second);
    TROUPE_ASSERT(exists);
  }
  return found->second;
}

// The first chunk is where the next link begins: see TransferTimes.
void ContendedSchedule::move_on(Index transfer) {
  Transfer& moving = transfers_[transfer];
  const Hop hop = moving.hops[0];
  const TransferCost cost = r_.cost.transfer(hop.link, hop.direction, moving.bytes);
  Duration& is_free = link_free_[2 * hop.link.index() + static_cast<std::size_t>(hop.direction)];
  const Duration begin = std::max(now_, is_free);
  is_free = sum_of(begin, cost.total());
  moving.last = std::max(sum_of(moving.last, cost.chunk(moving.chunks - 1U, moving.chunks)),
                         sum_of(begin, cost.total()));
  events_.push({moving.last, Happens::arrival, moving.copy});
  moving.hops = moving.hops.subspan(1);
  ++moving.copy;
  if (moving.hops.empty()) return;
  events_.push({sum_of(begin, cost.chunk(0, moving.chunks)), Happens::hop, transfer});
}

void ContendedSchedule::arrive(Index copy) {
  copies_[copy].is_there = true;
  for (Index w = copies_[copy].first_waiter; w != none; w = waiters_[w].next) {
    const Waiter& waiter = waiters_[w];
    if (waiter.op != none) {
      count_down(waiter.op);
    } else {
      transfers_[waiter.transfer].last = now_;
      events_.push({now_, Happens::hop, waiter.transfer});
    }
  }
}

void ContendedSchedule::end(Index op) {
  end_ = now_;
  if (const DeviceId device = device_[op]; device) {
    ++streams_[device.index()].free;
    touch(device);
  }
  for (std::size_t r = reads_begin_[op]; r < reads_begin_[op + 1]; ++r) {
    give(reads_[r].tensor, reads_[r].reader);
  }
}

// Ops without a device take no time.
void ContendedSchedule::count_down(Index op) {
  if (--waits_for_[op] > 0) return;
  const DeviceId device = device_[op];
  if (!device) return events_.push({now_, Happens::end, op});
  streams_[device.index()].ready.emplace(-priority_of(rank_[op], load_), op);
  touch(device);
}

void ContendedSchedule::touch(DeviceId device) {
  Streams& streams = streams_[device.index()];
  if (streams.is_touched) return;
  streams.is_touched = true;
  touched_.push_back(device);
}

void ContendedSchedule::start_ops() {
  for (const DeviceId device : touched_) {
    Streams& streams = streams_[device.index()];
    streams.is_touched = false;
    if (streams.ready.empty()) continue;
    const Duration busy = r_.busy.empty() ? Duration{0} : r_.busy[device.index()];
    if (now_ < busy) {
      events_.push({busy, Happens::release, static_cast<Index>(device.index())});
      continue;
    }
    for (; streams.free > 0 && !streams.ready.empty(); --streams.free) {
      const Index op = streams.ready.top().second;
      streams.ready.pop();
      events_.push({sum_of(now_, times_.on(device, r_.ops[op])), Happens::end, op});
    }
  }
  touched_.clear();
}

}  // namespace troupe
