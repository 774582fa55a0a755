// Streams and events as the engine sees them.
#pragma once

#include "tests/support/cuda/stand_in/accesses.hpp"
#include "tests/support/cuda/stand_in/clock.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>

namespace troupe::testing {

// On the clock of the devices, which is the host's steady clock.
using Nanoseconds = std::int64_t;

// What an event has recorded: a point in a stream, and when the stream reached it.
struct Moment {
  Order order;
  bool is_reached = false;
  Nanoseconds at = 0;
};

// What a call gives to a stream.
struct Work {
  std::string_view what;  // must live for ever
  std::vector<Access> accesses = {};
  std::function<void()> run = {};  // called without the engine's mutex
  std::shared_ptr<Moment> waits_for = {};
  std::shared_ptr<Moment> marks = {};
  bool is_kernel = false;
};

// Work with its place in the stream.
struct QueuedWork {
  Work work;
  std::uint64_t number = 0;
  Nanoseconds issued_at = 0;
  Nanoseconds takes = 0;
};

}  // namespace troupe::testing

// The types behind cudaStream_t and cudaEvent_t.
struct CUstream_st {
  static constexpr std::string_view kind = "stream";
  int device = 0;
  std::uint32_t index = 0;  // in vector clocks
  std::uint64_t issued = 0;
  std::uint64_t finished = 0;
  troupe::testing::Nanoseconds end = 0;  // of the last finished work
  troupe::testing::Order order = {};     // before the next work
  std::deque<troupe::testing::QueuedWork> queue = {};
  bool is_running = false;    // its first work has left the queue and isn't finished
  bool is_destroyed = false;  // by the program; the work goes on
};

struct CUevent_st {
  static constexpr std::string_view kind = "event";
  int device = 0;
  bool is_timed = false;
  std::shared_ptr<troupe::testing::Moment> recorded = {};
};
