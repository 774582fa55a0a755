// The settings, counts and failures of the stand-in: see ../stand_in_control.hpp for what each
// means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::testing {

// Protected by the engine's mutex.
struct Control {
  std::int64_t seed = 1;
  std::int64_t delay_max_us = 200;
  std::int64_t devices = 2;
  std::int64_t first_device = 0;
  std::int64_t memory_mib = 512;
  std::int64_t driver_version = 13000;
  std::int64_t no_kernel_image = 0;
  std::int64_t late_events = 0;
  std::int64_t no_peer_access = 0;
  std::int64_t peers_refused = 0;
  std::int64_t out_of_memory_at = 0;
  std::int64_t out_of_memory_for = 1;  // so many allocations
  std::int64_t sticky_error_at = 0;
  std::int64_t device_lost_at = 0;
  std::int64_t kernel_fault_at = 0;
  std::int64_t unreported = 0;
  std::int64_t abort_at_failure = 0;
  std::int64_t trace = 0;

  std::int64_t calls = 0;
  std::int64_t launches = 0;
  std::int64_t copies = 0;
  std::int64_t allocations = 0;
  std::int64_t host_waits = 0;
  std::int64_t round_trips = 0;
  std::int64_t failures = 0;

  std::int64_t no_wait_regions = 0;
  std::string failure_text = {};  // a line each

  Control();  // reads the environment
  std::int64_t* find(std::string_view name);

  // Whether the allocation that begins is one of those that out_of_memory_at means.
  bool is_out_of_memory();

  // Reports a failure of the program under test.
  void fail(const std::string& what);
  // Both are failures in a no-wait region; but a thread that enqueues no work may wait.
  void count_host_wait(std::string_view what, bool enqueues_work);
  void count_round_trip(const std::string& what);
};

// Counts a setting `..._at` down. Returns true for the event that it means.
inline bool is_due(std::int64_t& countdown) {
  return countdown > 0 && --countdown == 0;
}

}  // namespace troupe::testing
