// Real time: a CAF scheduler under which every actor of a run has a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <caf/all.hpp>
#include <caf/detail/thread_safe_actor_clock.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

namespace troupe {

// How a thread waits for messages.
enum class Waiting {
  asleep,   // woken by the kernel, which takes some microseconds
  briefly,  // looks for some ten microseconds, then sleeps: for actors that exchange small messages
};

// A CAF module, loaded with `config.load<ActorThreads>()`. A kernel may block its actor's thread,
// and nobody else's. Actors of CAF's own share one more thread.
class ActorThreads final : public caf::scheduler::abstract_coordinator {
 public:
  explicit ActorThreads(caf::actor_system& system);
  ~ActorThreads() override;

  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>);
  // The one that `system` was built with.
  static ActorThreads& of(caf::actor_system& system);

  // Starts a thread for each. Call it once, before actors are spawned. Throws std::system_error
  // where the host gives no more threads.
  void start_threads(std::span<const Waiting> threads);
  // What to spawn an actor on, in the order of start_threads: one actor each.
  caf::execution_unit* thread(std::size_t i);

  // caf::scheduler::abstract_coordinator
  void start() override;
  void stop() override;
  void enqueue(caf::resumable* job) override;
  caf::actor_clock& clock() noexcept override { return clock_; }
  bool detaches_utility_actors() const override { return false; }

 private:
  class Unit;    // a thread, as CAF sees it
  class Own;     // of one actor
  class Shared;  // of all others

  caf::detail::thread_safe_actor_clock clock_;
  std::thread clock_thread_;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Own>> own_;
  std::atomic<bool> has_own_ = false;  // own_ is complete
};

}  // namespace troupe
