// The actor system through which the leader of a run and its nodes talk: CAF's network layer.
#pragma once

#include "actors/actor_system_setup.hpp"
#include "actors/waiting.hpp"
#include "core/base/time.hpp"

#include <memory>
#include <span>
#include <utility>

#include <caf/all.hpp>

namespace troupe {

// Every connection gets heartbeats, five a second at least, so that the other side's timeout may be
// another one. Actors of a node that has been silent for `timeout` are gone: whoever monitors them
// is told. Time for which this process was stopped doesn't count.
class ControlSystem {
 public:
  explicit ControlSystem(Duration timeout);
  // Of nodes that are in this process, and share this with it.
  explicit ControlSystem(std::shared_ptr<ActorSystemSetup> shared) : shared_(std::move(shared)) {}

  caf::actor_system& system() { return shared_ ? shared_->system() : *system_; }

 private:
  const std::shared_ptr<ActorSystemSetup> shared_;
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
    caf::anon_send_exit(actor_, caf::exit_reason::kill);
    wait_for_end(system_, std::span(&actor_, 1));
  }
  OwnedActor(const OwnedActor&) = delete;
  OwnedActor& operator=(const OwnedActor&) = delete;

  const caf::actor& get() const { return actor_; }

 private:
  caf::actor_system& system_;
  const caf::actor actor_;
};

}  // namespace troupe
