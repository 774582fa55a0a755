// Placements that move few tensors, for machines whose links are slow for what ops make.
#pragma once

#include "core/plan/placement_policy.hpp"

#include <optional>
#include <vector>

namespace troupe {

// All ops that the user didn't place on the one device that would do these soonest. Of equal ones
// it is that whose memory holds most of what they read of other ops. None if no device can run all
// of them.
std::optional<std::vector<DeviceId>> on_one_device(const PlacementRequest& request);

// Ops that read nothing are cut into runs, one for each device in the machine's order, of as much
// work as its speed makes up of that of all. Other ops follow the bytes: they go where most of what
// they read is. Where that leaves a choice, the device with the least work so far gets the op.
// O(n log devices) for n ops and inputs.
std::vector<DeviceId> in_blocks(const PlacementRequest& request);

}  // namespace troupe
