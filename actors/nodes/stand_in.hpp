// An actor that stands for a device or a link of another node.
#pragma once

#include "core/backend/link_use.hpp"
#include "core/plan/share.hpp"

#include <cstdint>
#include <string>

#include <caf/all.hpp>

namespace troupe {

// To a stand-in: its node is gone.
struct NodeLost {
  std::string cause;
};

// Spawns the stand-in of `resource`, which the agent of its node knows by `run`. It keeps the
// shares that it sends there, and writes into them the records that come back. Into `use` (may be
// null) it adds how the resource, a link, has copied.
caf::actor spawn_stand_in(caf::actor_system& system, const caf::actor& agent, std::uint32_t run,
                          ResourceId resource, const caf::actor& coordinator, LinkUse* use);

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::NodeLost)
