// Moves ops that have no placement of their own to memories that have room for them. Placement
// policies look at time only; a plan that they make may be refused (memory_order.hpp) though the
// machine has room.
#pragma once

#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/windows.hpp"

#include <functional>
#include <span>
#include <vector>

namespace troupe {

struct RoomRequest {
  const Graph& graph;
  const Machine& machine;
  std::span<const WindowOps> windows;
  // Of an op in the windows: where it is placed so far, and whether it may be moved at all.
  std::function<Placement(OpId)> placement;
  std::function<bool(OpId)> is_open;
  // The memory of an op that is read there, whether it is in the windows or not.
  std::function<MemoryId(OpId)> home;
  std::function<bool(DeviceId, OpId, bool timed)> can_run;
  // Whether a tensor is needed until the end, though ops of the windows read it.
  std::function<bool(OpId)> is_kept;
  // That are there already, and needed until the end, whether ops of the windows read them or not.
  std::vector<OpId> idle;
};

// Calls move(op, device) for each op that finds no room where it is when ops run in graph order,
// but does elsewhere: in the memory that has most left then. What finds none anywhere stays.
void search_room(const RoomRequest& request, const std::function<void(OpId, DeviceId)>& move);

}  // namespace troupe
