// Options of planning that depend on how the plan will be run.
#pragma once

#include "core/base/id.hpp"
#include "core/cost/cost_model.hpp"
#include "core/ops/op_kind.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct PlanOptions {
  // How long ops and transfers take. Must be set.
  std::shared_ptr<const CostModel> cost = {};
  // Whether a device's backend has a kernel for an op kind. Empty: every device has every kernel.
  std::function<bool(DeviceId, const OpKind&)> has_kernel = {};
  // How timed ops without a placement get a device: a name from placement_policy.hpp. Tests set it.
  // Runs keep this default; to give them another policy, set it in actors/run_setting.cpp.
  std::string placement_policy = "heft";
  // For a simulation: the cost model must know every timed op, and ops that are prepared before the
  // clock starts take no time.
  bool needs_costs = false;
  // Every result of a timed op will be compared with a serial execution. Results that no op of the
  // scenario reads are kept until the run ends, compared or not. The other results are kept, too,
  // in each memory that has room for them: all tensors of the plan in that memory take at most a
  // quarter of its size, and all tensors in memories of kind RAM at most a quarter of `ram_bytes`.
  // Elsewhere a result leaves a digest when it is freed.
  bool compare_results = false;
  // Whether digests do for that: not where results aren't equal bit for bit. The results that can't
  // be kept are then not compared.
  bool compare_digests = true;
  // Ops whose results are kept until the run ends, if the scenario makes them, timed or not.
  // Sorted.
  std::vector<OpId> saved = {};
  // Whether an op may wait for room that an op on another node makes. Real nodes tell each other of
  // tensors only: then a plan that needs this is refused.
  bool waits_across_nodes = true;
  // By NodeId: nothing is placed on the node, not even what the user has placed there, which goes
  // where the policy puts it. Empty: no node is lost.
  std::vector<bool> lost_nodes = {};
  // What is planned of a plan that was begun goes where it was before, unless the user has placed
  // it: lost nodes have been replaced, and it fits there.
  bool stays_where_it_was = false;
  // Ops without a placement go elsewhere where a memory is too full for what they make
  // (room_search). Planning does so by itself where a plan would be refused otherwise.
  bool seeks_room = false;
  // Bytes of the host's memory that the tensors in all memories of kind RAM may take together.
  // None: unlimited (a simulation).
  std::optional<std::uint64_t> ram_bytes = {};
  // Whether what is in storage takes the host's memory, too, as in a rehearsal.
  bool has_storage_in_ram = false;
};

}  // namespace troupe
