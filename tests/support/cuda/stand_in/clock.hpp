// Vector clocks: which work of which streams comes before a point, whatever the timing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::testing {

// The work of a stream is numbered from 1. A clock has, for each stream, the number of the last
// work that comes before the clock's point.
class VectorClock {
 public:
  bool contains(std::uint32_t stream, std::uint64_t number) const {
    return stream < numbers_.size() && numbers_[stream] >= number;
  }
  void set(std::uint32_t stream, std::uint64_t number) {
    if (stream >= numbers_.size()) numbers_.resize(stream + std::size_t{1});
    numbers_[stream] = number;
  }
  void join(const VectorClock& other) {
    if (numbers_.size() < other.numbers_.size()) numbers_.resize(other.numbers_.size());
    for (std::size_t s = 0; s < other.numbers_.size(); ++s) {
      numbers_[s] = std::max(numbers_[s], other.numbers_[s]);
    }
  }

 private:
  std::vector<std::uint64_t> numbers_;
};

// What comes before a point. `on_devices` leaves out what only a wait of the host has ordered.
struct Order {
  VectorClock all;
  VectorClock on_devices;

  void join(const Order& other) {
    all.join(other.all);
    on_devices.join(other.on_devices);
  }
  void set(std::uint32_t stream, std::uint64_t number) {
    all.set(stream, number);
    on_devices.set(stream, number);
  }
};

}  // namespace troupe::testing
