// The coordinator as an actor: hands windows out, hears of progress, collects records.
#pragma once

#include "actors/clock.hpp"
#include "actors/messages.hpp"
#include "core/result/summary.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <string>

#include <caf/all.hpp>

namespace troupe {

// What the coordinator shares with its runtime (actor_runtime.hpp), which outlives it.
struct CoordinatorHooks {
  std::promise<RunResult> result;
  std::atomic<std::uint64_t> items_done = 0;
  // Takes the shares of each window that is done, in order, on the coordinator's thread. None: they
  // are in the result.
  std::function<void(ResourceShares)> on_window_done = {};
  std::function<void()> on_end = {};  // called there too, when the result is there
  std::function<std::string(ResourceId)> resource_name = {};  // for errors
};

// Spawns the coordinator of `resources`. It introduces them as they join, begins when it is told to
// and all that have joined are ready, carries out the windows that it is sent, and when the last
// one is done (or the run has failed, or was interrupted) fulfils hooks.result, with all resource
// actors that have joined gone.
// `stall_check_interval`: how often to check that the run is not stuck; zero: never (virtual time,
// where the runtime sees it).
caf::actor spawn_coordinator(caf::actor_system& system, ResourceActors resources,
                             CoordinatorHooks& hooks, const Clock& clock,
                             Duration stall_check_interval, caf::execution_unit* thread);

}  // namespace troupe
