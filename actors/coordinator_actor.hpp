// The coordinator as an actor: hands windows out, hears of progress, collects records.
#pragma once

#include "core/plan/plan.hpp"
#include "core/result/summary.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// What the coordinator shares with the runner, which outlives it.
struct Podium {
  std::promise<RunResult> result;
  std::atomic<std::uint64_t> items_done = 0;
  std::function<std::string(UnitId)> unit_name;          // for errors
  std::function<std::string(UnitId)> unit_needs;         // likewise: what must be done before it
  std::function<std::string(ResourceId)> resource_name;  // likewise
};

// Spawns the coordinator. It begins when the runner has introduced every
// resource's actor; fulfils podium.result when the run has ended, with all resource actors gone.
// `pulse`: how often to check that the run is not stuck; zero: never (virtual time, where the
// runner sees it).
caf::actor spawn_coordinator(caf::actor_system& system, std::vector<Window> windows,
                             std::size_t resources, Podium& podium, Duration pulse,
                             caf::execution_unit* thread);

}  // namespace troupe
