// Where work that was issued ends: what other work waits for before it has ended.
#pragma once

#include <cstdint>

namespace troupe {

// A place in the order of a queue: a stream of a GPU, or a direction of a link. Only resources of
// one order (DeviceBackendEntry::order) can wait for each other's tokens. Simulated resources know
// when work will end: `position` is then the time in nanoseconds.
struct Token {
  static constexpr std::uint32_t no_queue = 0xFFFF'FFFF;
  std::uint32_t queue = no_queue;
  std::uint64_t position = 0;

  // There is nothing to wait for.
  bool is_none() const { return queue == no_queue; }
  friend bool operator==(const Token&, const Token&) = default;
};

}  // namespace troupe
