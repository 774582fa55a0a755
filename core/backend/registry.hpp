// The one list of backends, and the one place that chooses between simulated and real ones.
#pragma once

#include "core/backend/backend.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

enum class Mode : std::uint8_t {
  run,       // real devices, real time
  simulate,  // the cost model's times, virtual time, no values
  rehearse,  // the cost model's times, virtual time, and the values that such a run would give
};
constexpr bool has_virtual_time(Mode mode) {
  return mode != Mode::run;
}
constexpr bool computes_values(Mode mode) {
  return mode != Mode::simulate;
}

// An entry serves one mode: real backends a run, simulated ones a simulation.
struct DeviceBackendEntry {
  std::string_view name;
  // Whether it can carry out the work of this device here and now.
  bool (*fits)(const Machine&, DeviceId);
  bool (*has_kernel)(const Machine&, DeviceId, const OpKind&);
  std::unique_ptr<DeviceBackend> (*make)(const BackendContext&, DeviceId);
  Mode mode = Mode::run;
};

struct LinkBackendEntry {
  std::string_view name;
  bool (*fits)(const Machine&, LinkId);
  std::unique_ptr<LinkBackend> (*make)(const BackendContext&, LinkId);
  Mode mode = Mode::run;
};

// Every backend of this build, by name; for listings and the conformance tests.
std::span<const DeviceBackendEntry> device_backends();
std::span<const LinkBackendEntry> link_backends();

// The backend for a device or link in this mode. Throws a usage Error where a real run has none for
// it (a GPU where there is none), which says how to simulate it or map it to a stand-in.
const DeviceBackendEntry& choose_backend(Mode mode, const Machine& machine, DeviceId device);
const LinkBackendEntry& choose_backend(Mode mode, const Machine& machine, LinkId link);

// Whether this process can read and write the memory in a real run: RAM that no GPU owns.
bool in_process_ram(const Machine& machine, MemoryId memory);

}  // namespace troupe
