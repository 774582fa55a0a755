// The setting of a run: everything that follows from its mode, decided in one place.
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

// How a run uses its machine. A simulation and a real run differ only in what is chosen here, and
// in the scheduler and clock that actors/actor_runtime.cpp chooses by has_virtual_time.
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

// `verify`: compare results with a serial execution if the mode computes values. The machine must
// outlive the setting. Throws a usage Error if a device or a link has no backend for the mode.
RunSetting make_run_setting(Mode mode, const Machine& machine, bool verify);

// Options for planning a run with this setting. The machine must outlive them. `ram_bytes` (see
// PlanOptions) is ignored if the setting has no values.
PlanOptions plan_options(const RunSetting& setting, const Machine& machine,
                         std::optional<std::uint64_t> ram_bytes);

}  // namespace troupe
