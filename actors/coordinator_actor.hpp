// The actor around CoordinatorLogic: sends windows to the resources, and collects progress and
// records.
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

// State that the coordinator shares with its runtime (actor_runtime.hpp), which outlives it.
struct CoordinatorHooks {
  std::promise<RunResult> result;
  std::atomic<std::uint64_t> items_done = 0;
  // Receives the shares of each completed window, in order, on the coordinator's thread. Those of
  // windows that don't complete are in the result. Must be set.
  std::function<void(ResourceShares)> on_window_done = {};
  std::function<void()> on_watched = {};  // a watched item has finished; on that thread, too
  std::function<void()> on_end = {};  // called on the coordinator's thread after `result` is set
  std::function<std::string(ResourceId)> resource_name = {};  // for errors
  // That of RunContext. Interrupt follows it, but maybe late.
  const std::atomic<bool>* interrupted = nullptr;
};

// Spawns the coordinator. It introduces resources to each other as they join, begins when Begin has
// arrived and every resource that has joined has answered Ready, and runs the windows sent to it.
// When the last window has completed, or the run has failed or was interrupted, it waits until all
// resource actors have quit, and sets hooks.result. When Leave arrives before that, it sets the
// result at once, though resource actors still use the objects of the run. If it throws (because
// there is no memory left, say), hooks.result gets the exception at once, too.
// `stall_check_interval` is the time between two checks that the run can still go on. Zero: no
// checks (virtual time, where the runtime detects a stuck run).
caf::actor spawn_coordinator(caf::actor_system& system, ResourceActors resources,
                             CoordinatorHooks& hooks, const Clock& clock,
                             Duration stall_check_interval, caf::execution_unit* thread);

}  // namespace troupe
