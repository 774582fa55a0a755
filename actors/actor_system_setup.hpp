// Where actors live, and how time passes there: scheduler and clock of real and of virtual time.
#pragma once

#include "actors/actor_threads.hpp"
#include "actors/clock.hpp"
#include "actors/real_clock.hpp"
#include "core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// The one difference between a real run and a simulation that actors know. Nodes under virtual time
// share one with their leader. For the thread that spawns actors.
class ActorSystemSetup {
 public:
  // Virtual time begins at `begins_at`. Throws std::system_error where the host gives no thread.
  ActorSystemSetup(bool virtual_time, std::uint64_t seed, Instant begins_at = {});

  // CAF's systems end only when no other thread than the one that destroys them refers to them. A
  // thread does that has made one or spawned an actor, until it ends or calls this.
  static void leave_thread();

  caf::actor_system& system() { return *system_; }
  Clock& clock();
  bool has_virtual_time() const { return virtual_time_; }

  // The thread of an actor that may block, see ActorThreads; null where time is virtual. Throws
  // std::system_error where the host gives no more threads.
  caf::execution_unit* start_thread(Waiting waiting, Poll poll = {});
  // A thread that belongs to others, for an actor that must not block: see ActorThreads. Null where
  // time is virtual.
  caf::execution_unit* borrow_thread(Post post);
  // That of an actor that shares threads with others: null. Throws likewise.
  caf::execution_unit* start_shared_thread();
  // How many threads start_shared_thread() starts in that many calls.
  std::size_t shared_threads_for(std::size_t actors) const;
  // What is interrupted runs only where nothing else wants to.
  void give_way();

  Duration stall_check_interval() const;
  // Virtual time stands still when what is done may lead to more work.
  void pause();
  // Lets virtual time pass. False where nothing is left to happen.
  bool proceed();
  // Under virtual time, lets it pass until this holds. Otherwise does nothing: what is waited for
  // happens on other threads.
  void let_pass_until(const std::function<bool()>& holds);
  // These actors were told to end. Under virtual time, lets it pass until they have, and keeps them
  // until the setup is gone, as their timers may expire later. Otherwise the destructor waits.
  void settle(std::vector<caf::actor> actors);

 private:
  bool virtual_time_;
  caf::actor_system_config config_;
  std::optional<RealClock> real_clock_;  // before the system: actors use it until they are gone
  std::unique_ptr<caf::actor_system> system_;
  std::vector<caf::actor> settled_;
};

}  // namespace troupe
