// Sessions with a memory that holds few tensors.
#pragma once

#include "tests/unit/actors/session_fixture.hpp"

#include <cstdint>

namespace troupe::testing {

// A hundred KiB are five of these, and some.
inline const Shape of_18_kib{4608};
inline constexpr std::uint64_t hundred_kib = 100 << 10;
inline constexpr Mode all_modes[] = {Mode::run, Mode::simulate, Mode::rehearse};

// Keeps cpu0 at work while the test makes more calls, so that they are handed out together. Nothing
// in a simulation, which hands out all before a wait.
struct Gate {
  explicit Gate(Session& s) {
    KernelState::is_gate_open = has_virtual_time(s);
    const DeviceScope on = s.on("cpu0");
    gate = s.call("gate", {});
  }
  ~Gate() { KernelState::is_gate_open = true; }

  static bool has_virtual_time(const Session& s) { return s.report().mode != "run"; }
  Tensor gate;
};

// Of session_machine(), in which mem1 has a hundred KiB.
inline Machine with_small_memory() {
  Machine machine = session_machine();
  machine.memories[1].size_bytes = hundred_kib;
  return machine;
}

}  // namespace troupe::testing
