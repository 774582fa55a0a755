// Moves ops that have no placement of their own to memories that have room for them. Placement
// policies look at time only; a plan that they make may be refused (memory_order.hpp) though the
// machine has room.
#pragma once

#include "core/cost/cost_model.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"
#include "core/plan/windows.hpp"

#include <functional>
#include <span>
#include <vector>

namespace troupe {

struct RoomRequest {
  // A replica that is there before the windows begin. Of several of one tensor, the first counts as
  // its home, and the others as copies.
  struct Existing {
    OpId tensor;
    MemoryId memory;
  };
  const Graph& graph;
  const Machine& machine;
  const CostModel& cost;
  Router& router;
  std::span<const WindowOps> windows;
  // Whether what comes from another node may wait for room (PlanOptions::waits_across_nodes).
  bool waits_across_nodes = true;
  // Of an op in the windows: where it is placed so far, and whether it may be moved at all.
  std::function<Placement(OpId)> placement;
  std::function<bool(OpId)> is_open;
  // Has one answer for all ops of a class that are timed, and for all that are not.
  std::function<bool(DeviceId, OpId, bool timed)> can_run;
  // Whether tensors get from there to where they are needed, and back.
  std::function<bool(DeviceId, OpId)> reaches;
  // Whether a tensor is needed until the end, whoever reads it. What nobody reads and the windows
  // make is.
  std::function<bool(OpId)> is_kept;
  std::vector<Existing> existing;  // all that the windows read, and more
};

// Calls move(op, device) for each op that finds no room where it is when ops run in graph order,
// but does elsewhere: where it would end first after what was put on these devices before. What
// finds none anywhere stays. Where an op that stays lacks room, the others are asked to leave so
// much more there, a few times.
void search_room(const RoomRequest& request, const std::function<void(OpId, DeviceId)>& move);

}  // namespace troupe
