// Random machines of several nodes. A seed gives the same machine everywhere.
#pragma once

#include "core/base/random.hpp"
#include "core/machine/machine.hpp"
#include "tests/support/small_machine.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::testing {

// 1 to 12 nodes of one sort, two sorts, or each of its own: CPUs on a host memory and GPUs with a
// memory each, on links to the host and at times to each other. The nodes are joined by a switch,
// by switches of racks, as a ring or as a chain; at times some are not joined at all. Times on
// links and devices are few, so that there are many equal ones.
inline Machine random_cluster(Random& random) {
  SmallMachine m;
  const auto one_in = [&](std::uint64_t n) { return random.below(n) == 0; };
  const auto join = [&](MemoryId a, MemoryId b) {
    const LinkId link = m.link("link", a, b, std::chrono::nanoseconds(100 * random.below(2)));
    for (double& bandwidth : m.machine.links[link.index()].bandwidth) {
      if (one_in(8)) bandwidth = 2e9;
    }
    if (one_in(16)) m.link("another", a, b);
  };
  struct Sort {
    std::uint64_t cpus;
    std::uint64_t gpus;
    bool are_joined;
    std::uint64_t gpu_latency;
    double flops;
  };
  const auto sort = [&] {
    return Sort{random.below(4), random.below(4), one_in(3), 100 * random.below(3),
                one_in(2) ? 1e9 : 4e9};
  };
  const std::vector<Sort> sorts = {sort(), sort()};
  const std::uint64_t kinds = 1 + random.below(3);
  std::vector<MemoryId> hosts;
  const std::uint64_t nodes = 1 + random.below(12);
  for (std::uint64_t n = 0; n < nodes; ++n) {
    const Sort s = kinds == 3 ? sort() : sorts[random.below(kinds)];
    const MemoryId host = hosts.emplace_back(m.memory("host"));
    for (std::uint64_t d = 0; d < s.cpus; ++d) m.device("cpu", host, 1 + (one_in(4) ? 1 : 0));
    std::vector<MemoryId> vrams;
    for (std::uint64_t d = 0; d < s.gpus; ++d) {
      const MemoryId vram = vrams.emplace_back(m.memory("vram"));
      m.device("gpu", vram, 1, s.flops);
      m.link("pcie", host, vram, std::chrono::nanoseconds(s.gpu_latency));
      if (d > 0 && s.are_joined) m.link("bridge", vrams[d - 1], vram);
    }
  }
  if (m.machine.devices.empty()) m.device("cpu", hosts[0]);
  const std::uint64_t network = random.below(5);
  if (network == 2 || network == 3) {
    for (std::size_t n = 1; n < nodes; ++n) {
      if (!one_in(10)) join(hosts[n - 1], hosts[n]);
    }
    if (network == 3 && nodes > 2) join(hosts.back(), hosts.front());
    return m.machine;
  }
  const std::size_t rack = network == 4 ? 3 : nodes;
  const MemoryId top = m.memory("switch");
  const bool is_uniform = one_in(2);
  for (std::size_t n = 0, leaf = 0; n < nodes; ++n) {
    if (rack < nodes && n % rack == 0) {
      leaf = m.memory("rack").index();
      m.link("up", MemoryId::at(leaf), top);
    }
    const MemoryId to = rack < nodes ? MemoryId::at(leaf) : top;
    if (is_uniform) {
      m.link("network", hosts[n], to, std::chrono::nanoseconds(100));
    } else if (!one_in(10)) {
      join(hosts[n], to);
    }
  }
  return m.machine;
}

}  // namespace troupe::testing
