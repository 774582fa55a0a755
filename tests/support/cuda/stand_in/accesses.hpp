// The reads and writes of one allocation, and the check that each comes after those it must follow.
#pragma once

#include "tests/support/cuda/stand_in/clock.hpp"
#include "tests/support/cuda/stand_in/control.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

// Work of a stream, or, with number 0, of the host. `what` must live for ever.
struct WorkId {
  std::string_view what;
  std::uint32_t stream = 0;
  std::uint64_t number = 0;
  std::string text() const;
};

struct Access {
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool reads = false;
  bool writes = false;
  bool is_whole = false;  // of an allocation, for want of knowing how much of it
  const std::byte* end() const { return begin + bytes; }
};

class AccessHistory {
 public:
  // Reports a race between `access` and an earlier access that `order` doesn't contain, and counts
  // a round trip. `place` describes the allocation. The host may use pinned memory itself between
  // two accesses: there are no round trips through it.
  void check(const Access& access, const Order& order, const WorkId& work, const std::string& place,
             bool is_pinned, Control& control) const;
  // Keeps the access for later checks. Accesses that come before it and can't be part of a race
  // that it isn't part of are forgotten.
  void add(const Access& access, const Order& order, const WorkId& work);
  // Whether there is an access that `clock` doesn't contain and that must be ordered with `access`.
  bool is_busy(const Access& access, const VectorClock& clock) const;

 private:
  struct Past {
    Access access;
    WorkId work;
  };
  std::vector<Past> past_;
};

}  // namespace troupe::testing
