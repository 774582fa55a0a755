#include "actors/nodes/control_system.hpp"

#include "actors/actor_threads.hpp"
#include "actors/nodes/node_protocol.hpp"

#include <caf/io/all.hpp>

namespace troupe {

ControlSystem::ControlSystem(Duration timeout) {
  constexpr int beats_per_timeout = 5;
  config_.load<ActorThreads>();
  config_.load<caf::io::middleman>();
  config_.set("middleman.heartbeat-interval", caf::timespan(timeout / beats_per_timeout));
  config_.set("middleman.connection-timeout", caf::timespan(timeout));
  config_.set("middleman.workers", std::size_t{0});
  add_node_protocol(config_);
  system_ = std::make_unique<caf::actor_system>(config_);
}

}  // namespace troupe
