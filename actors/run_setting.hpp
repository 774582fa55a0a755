// What follows from the mode of a run, decided once and passed on.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/memory_store.hpp"
#include "core/cost/cost_model.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan_options.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

// How one machine is used in a run. Nothing but the choice of scheduler and clock
// (actors/actor_runtime.cpp) and of backends (registry.cpp) tells a simulation from a real run.
struct RunSetting {
  std::string_view name;  // of the mode, in reports
  bool has_virtual_time = false;
  MemoryStore::Backing backing = MemoryStore::Backing::accounted;
  bool compares_results = false;  // with a serial execution
  std::shared_ptr<const CostModel> cost;
  std::vector<const DeviceBackendEntry*> device_backends;  // by DeviceId
  std::vector<const LinkBackendEntry*> link_backends;      // by LinkId

  // Whether ops compute, so that tensors have values.
  bool has_values() const { return backing == MemoryStore::Backing::buffers; }
};

// Throws a usage Error where a device or a link has no backend for the mode. `verify`: compare
// results, where the mode computes any. The machine must outlive the setting.
RunSetting make_run_setting(Mode mode, const Machine& machine, bool verify);

// What planning must know of the setting, which must outlive the options. `ram_bytes`: see
// PlanOptions; ignored where there are no values.
PlanOptions plan_options(const RunSetting& setting, const Machine& machine,
                         std::optional<std::uint64_t> ram_bytes);

}  // namespace troupe
