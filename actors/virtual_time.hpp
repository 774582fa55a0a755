// Virtual time: a CAF scheduler and clock under which a run is deterministic and takes no real
// time.
#pragma once

#include "core/base/random.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <caf/all.hpp>
#include <caf/detail/test_actor_clock.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

namespace troupe {

// Time stands still while messages are delivered and jumps to the next delayed message when none is
// left. Delayed messages that are due together are delivered together.
class VirtualClock final : public caf::detail::test_actor_clock {
 public:
  using caf::detail::test_actor_clock::schedule_message;
  void schedule_message(time_point due, caf::strong_actor_ptr receiver,
                        caf::mailbox_element_ptr content) override;

  bool is_empty() const { return events_.empty(); }
  // Jumps to the next due time and delivers what is due then. There must be something.
  void advance();
  void drop_all() { events_.clear(); }

 private:
  struct Event {
    time_point due;
    std::uint64_t order;
    caf::strong_actor_ptr receiver;
    caf::mailbox_element_ptr content;
  };
  static bool later(const Event& a, const Event& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }

  std::vector<Event> events_;  // a heap, the next on top
  std::uint64_t scheduled_ = 0;
};

// A single-threaded scheduler (a CAF module, loaded with `config.load<VirtualTime>()`). Nothing
// runs but in run(), on its caller's thread; detached and blocking actors must not be used. Seed 0
// resumes actors in the order they became runnable; any other resumes a seeded choice of them, one
// message at a time: every order of concurrent messages can come up.
class VirtualTime final : public caf::scheduler::abstract_coordinator {
 public:
  explicit VirtualTime(caf::actor_system& system);

  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>);
  // The one that `system` was built with.
  static VirtualTime& of(caf::actor_system& system);

  void set_seed(std::uint64_t seed);

  // Delivers messages and lets time pass until nothing is left or `events` steps were taken; the
  // number taken.
  std::size_t run(std::size_t events);

  // caf::scheduler::abstract_coordinator
  void start() override;
  void stop() override;
  void enqueue(caf::resumable* job) override;
  caf::actor_clock& clock() noexcept override { return clock_; }
  bool detaches_utility_actors() const override { return false; }

 private:
  class Unit final : public caf::execution_unit {
   public:
    explicit Unit(VirtualTime& parent);
    void exec_later(caf::resumable* job) override { parent_.enqueue(job); }

   private:
    VirtualTime& parent_;
  };

  caf::resumable* take_job();

  VirtualClock clock_;
  std::deque<caf::resumable*> jobs_;
  std::unique_ptr<Unit> unit_;
  std::uint64_t seed_ = 0;
  Random random_{0};
};

}  // namespace troupe
