#include "core/plan/policies/transfer_times.hpp"

#include <bit>
#include <cstddef>
#include <span>

namespace troupe {

TransferTimes::TransferTimes(const Machine& machine, const CostModel& cost, Router& router)
    : machine_(machine),
      cost_(cost),
      router_(router),
      devices_(machine.memories.size(), 0.0),
      known_(std::bit_ceil(std::max<std::size_t>(1 << 12, 8 * machine.memories.size()))) {
  for (const Device& device : machine.devices) ++devices_[device.memory.index()];
  const MemoryTree& tree = router.tree();
  for (std::size_t i = tree.from_the_roots().size(); i-- > 0;) {
    const MemoryId m = tree.from_the_roots()[i];
    if (tree.gate(m)) devices_[tree.gate(m).index()] += devices_[m.index()];
  }
}

// A link begins with the first chunk. It ends when it has moved all of them, and not before it has
// moved the last one, which the link before has just delivered.
Duration TransferTimes::look_up(MemoryId from, MemoryId to, std::uint64_t bytes) {
  if (!router_.find(from, to, route_)) return out_of_reach;
  const std::uint16_t chunks = chunk_count(machine_, route_, bytes);
  Duration first{0};  // when the first chunk is there
  Duration last{0};
  for (const Hop& hop : route_) {
    const TransferCost cost = cost_.transfer(hop.link, hop.direction, bytes);
    last = std::max(sum_of(last, cost.chunk(chunks - 1, chunks)), sum_of(first, cost.total()));
    first = sum_of(first, cost.chunk(0, chunks));
  }
  return last;
}

Duration TransferTimes::over_all_links(MemoryId from, MemoryId to, std::uint64_t bytes) {
  Duration total{0};
  router_.find(from, to, route_);
  for (const Hop& hop : route_) {
    total = sum_of(total, cost_.transfer(hop.link, hop.direction, bytes).total());
  }
  return total;
}

// Within each block, its routes are counted once for each pair of devices whose tensors take them:
// those in the region of the one memory, and those in that of the other. Behind the gate are all
// devices of the island but those in the regions of the others.
double TransferTimes::mean_s(std::uint64_t bytes) {
  const MemoryTree& tree = router_.tree();
  double sum_ns = 0;
  const auto add = [&](double pairs, Duration time) {
    sum_ns += pairs * static_cast<double>(time.count());
  };
  for (std::uint32_t b = 0; b < tree.block_count(); ++b) {
    const std::span<const MemoryId> members = tree.members(b);
    const MemoryId gate = tree.gate(members[0]);
    double behind_gate = devices_[tree.root(gate).index()];
    for (const MemoryId m : members) behind_gate -= devices_[m.index()];
    for (const MemoryId from : members) {
      const double devices = devices_[from.index()];
      add(devices * behind_gate, over_all_links(from, gate, bytes));
      add(behind_gate * devices, over_all_links(gate, from, bytes));
      for (const MemoryId to : members) {
        if (from != to) add(devices * devices_[to.index()], over_all_links(from, to, bytes));
      }
    }
  }
  const auto devices = static_cast<double>(machine_.devices.size());
  double unreachable = devices * devices;
  for (const MemoryId root : tree.roots()) {
    unreachable -= devices_[root.index()] * devices_[root.index()];
  }
  add(unreachable, out_of_reach);
  return devices > 0 ? sum_ns * 1e-9 / (devices * devices) : 0;
}

}  // namespace troupe
