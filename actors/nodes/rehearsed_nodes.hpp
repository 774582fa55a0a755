// Nodes that are in the leader's process, under virtual time.
#pragma once

#include "actors/actor_system_setup.hpp"

#include <functional>
#include <memory>
#include <string>

#include <caf/all.hpp>

namespace troupe {

struct RehearsedNodes {
  std::shared_ptr<ActorSystemSetup> setup;  // of all actors
  // The agent of the node at this address, as the leader may use it.
  std::function<caf::actor(const std::string& address)> connect;
};

}  // namespace troupe
