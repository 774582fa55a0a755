// The actor system through which the leader of a run and its nodes talk: CAF's network layer.
#pragma once

#include "core/base/time.hpp"

#include <memory>
#include <utility>

#include <caf/all.hpp>

namespace troupe {

// Every connection gets heartbeats. Actors of a node that has been silent for `timeout` are gone:
// whoever monitors them is told.
class ControlSystem {
 public:
  explicit ControlSystem(Duration timeout);

  caf::actor_system& system() { return *system_; }

 private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
};

// An actor that uses its owner and ends with it.
class OwnedActor {
 public:
  OwnedActor(caf::actor_system& system, caf::actor actor)
      : system_(system), actor_(std::move(actor)) {}
  // Blocks until the actor has ended.
  ~OwnedActor() {
    const caf::scoped_actor self(system_);
    caf::anon_send_exit(actor_, caf::exit_reason::kill);
    self->wait_for(actor_);
  }
  OwnedActor(const OwnedActor&) = delete;
  OwnedActor& operator=(const OwnedActor&) = delete;

  const caf::actor& get() const { return actor_; }

 private:
  caf::actor_system& system_;
  const caf::actor actor_;
};

}  // namespace troupe
