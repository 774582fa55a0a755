#include "tests/support/cuda/stand_in/control.hpp"

#include "tests/support/cuda/stand_in/engine.hpp"
#include "tests/support/cuda/stand_in/kernels.hpp"
#include "tests/support/cuda/stand_in_control.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <execinfo.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

struct Entry {
  std::string_view name;
  std::int64_t Control::*value;
  bool is_setting = true;
};

constexpr std::array entries{
    Entry{"seed", &Control::seed},
    Entry{"delay_max_us", &Control::delay_max_us},
    Entry{"late_events", &Control::late_events},
    Entry{"devices", &Control::devices},
    Entry{"first_device", &Control::first_device},
    Entry{"memory_mib", &Control::memory_mib},
    Entry{"driver_version", &Control::driver_version},
    Entry{"no_kernel_image", &Control::no_kernel_image},
    Entry{"no_peer_access", &Control::no_peer_access},
    Entry{"peers_refused", &Control::peers_refused},
    Entry{"out_of_memory_at", &Control::out_of_memory_at},
    Entry{"out_of_memory_for", &Control::out_of_memory_for},
    Entry{"sticky_error_at", &Control::sticky_error_at},
    Entry{"device_lost_at", &Control::device_lost_at},
    Entry{"kernel_fault_at", &Control::kernel_fault_at},
    Entry{"unreported", &Control::unreported},
    Entry{"abort_at_failure", &Control::abort_at_failure},
    Entry{"trace", &Control::trace},
    Entry{"calls", &Control::calls, false},
    Entry{"launches", &Control::launches, false},
    Entry{"copies", &Control::copies, false},
    Entry{"allocations", &Control::allocations, false},
    Entry{"host_waits", &Control::host_waits, false},
    Entry{"round_trips", &Control::round_trips, false},
    Entry{"failures", &Control::failures, false},
};

std::string variable_of(std::string_view name) {
  std::string variable = "TROUPE_STAND_IN_";
  for (const char c : name) variable += static_cast<char>(std::toupper(c));
  return variable;
}

}  // namespace

Control::Control() {
  for (const Entry& entry : entries) {
    if (!entry.is_setting) continue;
    const std::string variable = variable_of(entry.name);
    const char* text = std::getenv(variable.c_str());
    if (text == nullptr) continue;
    char* end = nullptr;
    this->*entry.value = std::strtoll(text, &end, 10);
    if (*end != '\0') fail(variable + " is no number: " + text);
  }
}

std::int64_t* Control::find(std::string_view name) {
  const auto* found = std::find_if(entries.begin(), entries.end(),
                                   [name](const Entry& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &(this->*found->value);
}

bool Control::is_out_of_memory() {
  if (out_of_memory_at == 1 && out_of_memory_for > 1) {
    --out_of_memory_for;
    return true;
  }
  return is_due(out_of_memory_at);
}

void Control::fail(const std::string& what) {
  ++failures;
  failure_text += what + '\n';
  if (unreported == 0 && failures <= 20) {
    std::fprintf(stderr, "CUDA stand-in (TROUPE_STAND_IN_SEED=%lld): %s\n",
                 static_cast<long long>(seed), what.c_str());
    std::array<void*, 16> frames{};
    const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
    backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
  }
  if (abort_at_failure != 0) std::abort();
}

void Control::count_host_wait(std::string_view what, bool enqueues_work) {
  ++host_waits;
  if (no_wait_regions > 0 && enqueues_work) {
    fail("host wait: " + std::string(what) + " blocks where no host wait is allowed");
  }
}

void Control::count_round_trip(const std::string& what) {
  ++round_trips;
  if (no_wait_regions > 0) fail("round trip: " + what);
}

}  // namespace troupe::testing

using troupe::testing::Engine;
using troupe::testing::engine;

int stand_in_set(const char* name, int64_t value) {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  std::int64_t* found = e.control.find(name);
  if (found != nullptr) *found = value;
  return found == nullptr ? 1 : 0;
}

int64_t stand_in_get(const char* name) {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  const std::int64_t* found = e.control.find(name);
  return found == nullptr ? -1 : *found;
}

void stand_in_begin_no_wait() {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  ++e.control.no_wait_regions;
}

void stand_in_end_no_wait() {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  --e.control.no_wait_regions;
}

size_t stand_in_take_failures(char* text, size_t bytes) {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  if (bytes > 0) {
    const std::size_t length = std::min(bytes - 1, e.control.failure_text.size());
    std::memcpy(text, e.control.failure_text.data(), length);
    text[length] = '\0';
  }
  e.control.failure_text.clear();
  return static_cast<size_t>(std::exchange(e.control.failures, 0));
}

void stand_in_check_leaks() {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  e.check_leaks();
}

void stand_in_check_kernels() {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  troupe::testing::check_kernels(e.control);
}

void stand_in_restore_devices() {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  e.restore_devices();
}
