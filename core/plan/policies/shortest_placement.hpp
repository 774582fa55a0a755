// Where HEFT's greed is dear. It takes links as idle: where many tensors wait for each other, it
// spreads ops too widely. And it ends each op as soon as it can: where devices differ, all that
// follows may stay on a slow one.
#pragma once

#include "core/plan/placement_policy.hpp"

#include <vector>

namespace troupe {

// HEFT's placement, unless another one is clearly shorter: HEFT's that looks ahead, or a simple one
// (simple_placements.hpp). What each takes, ContendedSchedule says, of the first ops, as if these
// were all. Others are looked at only if HEFT's will take clearly longer than HEFT thinks, or has
// ops on other devices than those that are fastest for them.
std::vector<DeviceId> shortest_placement(const PlacementRequest& request);

}  // namespace troupe
