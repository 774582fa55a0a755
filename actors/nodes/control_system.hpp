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

// An actor that ends with its owner: the actor system waits for all that it has.
class OwnedActor {
 public:
  explicit OwnedActor(caf::actor actor) : actor_(std::move(actor)) {}
  ~OwnedActor() { caf::anon_send_exit(actor_, caf::exit_reason::kill); }
  OwnedActor(const OwnedActor&) = delete;
  OwnedActor& operator=(const OwnedActor&) = delete;

  const caf::actor& get() const { return actor_; }

 private:
  const caf::actor actor_;
};

}  // namespace troupe
