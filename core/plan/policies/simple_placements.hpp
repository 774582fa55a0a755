// Placements that move few tensors, for machines whose links are slow for what ops make.
#pragma once

#include "core/plan/placement_policy.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

// All ops that the user didn't place on the one device that would do these soonest. Of equal ones
// it is that whose memory holds most of what they read of other ops. None if no device can run all
// of them.
std::optional<std::vector<DeviceId>> on_one_device(const PlacementRequest& request);

// What an op goes after that reads others.
enum class Follow : std::uint8_t {
  bytes,   // where most of what it reads is, or has been read before
  owners,  // where that was made which few read: an update goes to the tile that it updates
};

// Ops that read nothing are cut into runs, one for each device in the machine's order, of as much
// work as its speed makes up of that of all. Other ops follow what they read; of the owners, each
// counts with the bytes of its tensor divided by the tensor's readers. Where that leaves a choice,
// the device with the least work so far gets the op. O(n (log devices + m)) for n ops and inputs
// that are in up to m memories for an op.
std::vector<DeviceId> in_blocks(const PlacementRequest& request, Follow follow);

}  // namespace troupe
