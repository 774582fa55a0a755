// Spawns the actors of devices and links, each on a thread of its own or on shared ones.
#pragma once

#include "actors/actor_system_setup.hpp"
#include "actors/messages.hpp"
#include "actors/run_context.hpp"
#include "core/plan/share.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// For use by one thread.
class ResourceHost {
 public:
  // Spawns the actor of a resource. `thread`: null if it shares threads. May throw anything.
  using Spawn = std::function<caf::actor(ResourceId, caf::execution_unit* thread)>;

  // `with_threads`: devices get a thread each. `network`: has the thread for links to a switch, and
  // what devices that wait poll; null: these links share threads, as others do. All must outlive
  // the host.
  ResourceHost(ActorSystemSetup& setup, const Machine& machine, bool with_threads,
               NetworkPort* network = nullptr);

  bool has(ResourceId resource) const { return (*actors_)[resource.index()] != nullptr; }
  // By ResourceId; null where none was added.
  ResourceActors actors() const { return actors_; }
  const caf::actor& operator[](ResourceId resource) const { return (*actors_)[resource.index()]; }

  // Adds the actors of resources that have none, and the threads for them: a few are shared. Stops
  // where `keep_going` says so. Throws an Error of this kind where the host hasn't enough threads
  // or memory, or a backend can't begin.
  void add(std::span<const ResourceId> resources, const Spawn& spawn, ErrorKind kind,
           const std::function<bool()>& keep_going);

 private:
  bool has_thread(ResourceId resource) const;
  bool is_on_network(ResourceId resource) const;
  caf::execution_unit* start_thread(ResourceId resource);
  std::vector<caf::execution_unit*> start_threads(std::span<const ResourceId> resources,
                                                  ErrorKind kind,
                                                  const std::function<bool()>& keep_going);

  ActorSystemSetup& setup_;
  const Machine& machine_;
  const bool with_threads_;
  NetworkPort* const network_;
  const std::shared_ptr<std::vector<caf::actor>> actors_;
};

// The actor of a resource of this process.
caf::actor spawn_resource(caf::actor_system& system, const RunContext& context, ResourceId resource,
                          const caf::actor& coordinator, caf::execution_unit* thread);

// Of this kind: actors could not be set up.
Error actors_not_set_up(ErrorKind kind, std::string problem);

}  // namespace troupe
