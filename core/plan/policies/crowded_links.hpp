// HEFT takes links as idle: where many tensors wait for each other, it spreads ops too widely.
#pragma once

#include "core/plan/placement_policy.hpp"

#include <vector>

namespace troupe {

// HEFT's placement, unless that will take clearly longer than HEFT thinks, since links are crowded,
// and a simple one (simple_placements.hpp) is clearly shorter. What each takes, ContendedSchedule
// says, of the first ops.
std::vector<DeviceId> heft_or_simple_placement(const PlacementRequest& request);

}  // namespace troupe
