// The setting of a run: everything that follows from its mode (run, simulate or rehearse), decided
// in one place.
#pragma once

#include "core/backend/backend.hpp"
#include "core/cost/cost_model.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/memory_store.hpp"
#include "core/plan/plan_options.hpp"
#include "core/result/verify.hpp"
#include "core/run/issue_ahead.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

// How many node processes one host starts for a run.
inline constexpr std::size_t local_nodes_max = 256;

// What a run uses. A simulation and a real run differ only in these values, and in the scheduler
// and clock that actors/actor_system_setup.cpp chooses by has_virtual_time.
struct RunSetting {
  std::string_view name;          // Report::mode: "run" or "simulate"
  std::string_view name_past;     // "ran" or "simulated", for messages
  bool has_virtual_time = false;  // else ops and transfers take the time that they really take
  MemoryStore::Backing backing = MemoryStore::Backing::accounted;
  bool compares_results = false;  // with a serial execution, when a scenario is done
  std::shared_ptr<const CostModel> cost;
  std::vector<const DeviceBackendEntry*> device_backends;  // by DeviceId
  std::vector<const LinkBackendEntry*> link_backends;      // by LinkId
  bool uses_tf32 = false;                                  // a device multiplies float32 in TF32
  std::int64_t widest_team = 1;  // of the machine: for how many threads kernels cut their work

  MakeSpace make_space = {};  // of memories that aren't just memory of the host or storage

  // How results are compared: bit for bit, unless a device computes other bits.
  Comparison comparison() const;
  // Whether ops compute, so that tensors have values.
  bool has_values() const { return backing == MemoryStore::Backing::buffers; }
};

// Where the devices and links of a real run are: in this process, or on several nodes.
enum class Nodes : std::uint8_t { this_one, several };

// `verify`: compare results with a serial execution if the mode computes values. `self`: on several
// nodes, the one that this process is; none: the leader, which has no device. The machine must
// outlive the setting. Throws a usage Error as check_machine() does, or if a device or a link has
// no backend for the mode, or if the machine has several nodes, and a real run this one only. What
// other nodes lack is for them to say.
RunSetting make_run_setting(Mode mode, const Machine& machine, bool verify,
                            Nodes nodes = Nodes::this_one, NodeId self = {});

// Fills in what a machine file may leave out and a run on this host needs: the cores of CPU
// devices, the size of storage. Memories of GPUs get no larger than what is free there. Does
// nothing for modes with virtual time. Must come before make_run_setting(). Throws a usage Error
// (with its place) for a core or a directory that isn't there.
void complete_machine(Mode mode, Machine& machine);
// A copy of the machine, completed; none for modes with virtual time. Throws a usage Error as
// check_machine() and complete_machine() do.
std::optional<Machine> completed_machine(Mode mode, const Machine& machine);

// What a device or a link may be given before earlier work has ended, by the backends of the
// setting.
IssueAhead issue_ahead(const RunSetting& setting, const Machine& machine, ResourceId resource);

// Options for planning a run with this setting. The machine must outlive them. `ram_bytes`: see
// PlanOptions; none: the host's memory that is available now, minus a reserve. Ignored if the
// setting has no values.
PlanOptions plan_options(const RunSetting& setting, const Machine& machine,
                         std::optional<std::uint64_t> ram_bytes = {});

}  // namespace troupe
