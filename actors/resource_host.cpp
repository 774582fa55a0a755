#include "actors/resource_host.hpp"

#include "actors/device_actor.hpp"
#include "actors/link_actor.hpp"
#include "core/backend/network/network_port.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace troupe {

Error actors_not_set_up(ErrorKind kind, std::string problem) {
  return {kind, SourcePlace{}, std::move(problem),
          "give this process more threads and memory (ulimit -u, ulimit -v), or let fewer devices, "
          "streams and cores have work"};
}

caf::actor spawn_resource(caf::actor_system& system, const RunContext& context, ResourceId resource,
                          const caf::actor& coordinator, caf::execution_unit* thread) {
  const std::size_t devices = context.machine.devices.size();
  if (resource.index() < devices) {
    return spawn_device(system, context, DeviceId::at(resource.index()), coordinator, thread);
  }
  return spawn_link(system, context, LinkId::at(resource.index() - devices), coordinator, thread);
}

ResourceHost::ResourceHost(ActorSystemSetup& setup, const Machine& machine, bool with_threads,
                           NetworkPort* network)
    : setup_(setup),
      machine_(machine),
      with_threads_(with_threads),
      network_(network),
      actors_(std::make_shared<std::vector<caf::actor>>(machine.devices.size() +
                                                        machine.links.size())) {}

bool ResourceHost::has_thread(ResourceId resource) const {
  return with_threads_ && resource.index() < machine_.devices.size();
}

bool ResourceHost::is_on_network(ResourceId resource) const {
  return network_ != nullptr && is_network_link(machine_, resource);
}

caf::execution_unit* ResourceHost::start_thread(ResourceId resource) {
  if (has_thread(resource)) {
    Poll poll;
    if (network_ != nullptr) {
      poll = {.once = [network = network_] { return network->progress(); },
              .leave = [network = network_] { network->leave(); }};
    }
    return setup_.start_thread(Waiting::briefly, std::move(poll));
  }
  if (is_on_network(resource)) {
    return setup_.borrow_thread([network = network_](std::function<void()> f, bool polls_next) {
      return network->post(std::move(f), polls_next);
    });
  }
  return setup_.start_shared_thread();
}

void ResourceHost::add(std::span<const ResourceId> resources, const Spawn& spawn, ErrorKind kind,
                       const std::function<bool()>& keep_going) {
  if (resources.empty()) return;
  const std::vector<caf::execution_unit*> threads = start_threads(resources, kind, keep_going);
  for (std::size_t i = 0; i < threads.size() && keep_going(); ++i) {
    const auto not_set_up = [&](const std::string& why) {
      return fmt::format("could not set {} up: {}", resource_name(machine_, resources[i]), why);
    };
    try {
      (*actors_)[resources[i].index()] = spawn(resources[i], threads[i]);
    } catch (const Error& error) {  // of a backend, which knows what to do
      throw Error(kind, SourcePlace{}, not_set_up(error.problem()), error.remedy());
    } catch (const std::exception& error) {
      throw actors_not_set_up(kind, not_set_up(error.what()));
    }
  }
}

// One for each device; links share some.
std::vector<caf::execution_unit*> ResourceHost::start_threads(
    std::span<const ResourceId> resources, ErrorKind kind,
    const std::function<bool()>& keep_going) {
  const auto devices = static_cast<std::size_t>(std::count_if(
      resources.begin(), resources.end(), [this](ResourceId r) { return has_thread(r); }));
  const std::size_t wanted = devices + setup_.shared_threads_for(resources.size() - devices);
  std::vector<caf::execution_unit*> threads;
  try {
    for (const ResourceId r : resources) {
      if (!keep_going()) break;
      threads.push_back(start_thread(r));
    }
  } catch (const std::exception& error) {
    throw actors_not_set_up(
        kind, fmt::format("could not start {}, one for each device that has work, and those that "
                          "links share: {}",
                          format_count(wanted, "thread"), error.what()));
  }
  return threads;
}

}  // namespace troupe
