#include "actors/nodes/control_system.hpp"

#include "actors/actor_threads.hpp"
#include "actors/nodes/node_protocol.hpp"

#include <algorithm>
#include <chrono>

#include <caf/io/all.hpp>

namespace troupe {

ControlSystem::ControlSystem(Duration timeout) {
  constexpr int beats_per_timeout = 5;
  // The other side, which has a timeout of its own, waits for the beats of this one.
  constexpr Duration interval_max = std::chrono::milliseconds(200);
  config_.load<ActorThreads>();
  config_.load<caf::io::middleman>();
  config_.set("middleman.heartbeat-interval",
              caf::timespan(std::min(timeout / beats_per_timeout, interval_max)));
  config_.set("middleman.connection-timeout", caf::timespan(timeout));
  config_.set("middleman.workers", std::size_t{0});
  add_node_protocol(config_);
  system_ = std::make_unique<caf::actor_system>(config_);
}

}  // namespace troupe
