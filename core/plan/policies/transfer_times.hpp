// How long tensors take from one memory to another, for placement policies.
#pragma once

#include "core/base/random.hpp"
#include "core/base/time.hpp"
#include "core/cost/cost_model.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

namespace troupe {

// Sums of two times of at most longest_duration, which is the limit for sums, too.
constexpr Duration sum_of(Duration a, Duration b) {
  return std::min(a + b, longest_duration);
}

// The objects referred to must outlive it. For use by one thread.
class TransferTimes {
 public:
  // Longer than any transfer. Stands for one between memories without a route.
  static constexpr Duration out_of_reach = std::chrono::hours(24);

  TransferTimes(const Machine& machine, const CostModel& cost, Router& router);

  // As on idle links, which the tensor goes over chunk by chunk; 0 within a memory. The times
  // looked up last are remembered.
  Duration between(MemoryId from, MemoryId to, std::uint64_t bytes) {
    if (from == to) return Duration{0};
    const std::uint64_t pair = std::uint64_t{from.value} << 32 | to.value;
    Known& known = known_[mix(pair + bytes) & (known_.size() - 1)];
    if (known.pair != pair || known.bytes != bytes) known = {pair, bytes, look_up(from, to, bytes)};
    return known.time;
  }

  // The mean over all pairs of devices, those that share a memory included, of the sum over all
  // links of the route: a mean of sums is a sum over parts of routes. Takes time in the number of
  // memories, and the square of that of memories in a block of the memory tree.
  double mean_s(std::uint64_t bytes);

 private:
  struct Known {
    std::uint64_t pair = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t bytes = 0;
    Duration time{0};
  };
  Duration look_up(MemoryId from, MemoryId to, std::uint64_t bytes);
  // There must be a route.
  Duration over_all_links(MemoryId from, MemoryId to, std::uint64_t bytes);

  const Machine& machine_;
  const CostModel& cost_;
  Router& router_;
  std::vector<double> devices_;  // by memory: number of those in its region
  std::vector<Known> known_;     // their number is a power of two
  Route route_;                  // the one looked up last
};

}  // namespace troupe
