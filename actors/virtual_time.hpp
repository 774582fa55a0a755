// Virtual time: a CAF scheduler and clock under which a run is deterministic and takes no real
// time.
#pragma once

#include "actors/clock.hpp"
#include "core/base/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <caf/all.hpp>
#include <caf/detail/test_actor_clock.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

namespace troupe {

// Time stands still while messages are delivered and jumps to what is due next when none is left.
// What is due together happens together, in the order it was scheduled or, with a seed, in a seeded
// one.
class VirtualClock final : public caf::detail::test_actor_clock, public Clock {
 public:
  void set_seed(std::uint64_t seed);

  Instant instant() const override {
    return Instant{std::chrono::duration_cast<Duration>(current_time.time_since_epoch())};
  }
  Instant instant_after(Instant) const override { return instant(); }
  // Rings by a plain call, on the thread in VirtualTime::run: a simulation sets one alarm for each
  // op, and a message for each would cost more than all the rest.
  void start_timer(Duration delay, TimerListener& listener, std::uint32_t lane) override;

  NoticeLookahead* lookahead() override { return &lookahead_; }

  using caf::detail::test_actor_clock::schedule_message;
  void schedule_message(time_point due, caf::strong_actor_ptr receiver,
                        caf::mailbox_element_ptr content) override;

  bool is_empty() const { return events_.empty() && batched_ == 0; }
  // Jumps to the next due time and lets happen what is due then. There must be something.
  void advance();
  void drop_all();

 private:
  // An alarm, or (listener null) a message: then `index` is its place in messages_.
  struct Event {
    time_point due;
    std::uint64_t order;
    TimerListener* listener;
    std::uint32_t index;  // of an alarm: the lane
  };
  struct Message {
    caf::strong_actor_ptr receiver;
    caf::mailbox_element_ptr content;
  };
  static bool later(const Event& a, const Event& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }
  void schedule(time_point due, TimerListener* listener, std::uint32_t index);

  // Events that are due together, in the order they were scheduled. Most events of a simulation
  // have one of a few due times, that of ops like those just started, and need no place in the
  // heap.
  struct Batch {
    time_point due{};
    std::vector<Event> events = {};
    std::size_t next = 0;
    bool is_empty() const { return next == events.size(); }
  };

  Batch* batch_of(time_point due);
  Batch* earliest_batch();
  bool take_next(time_point until, Event& next);
  // Field by field, in place: a copy of what was just written would wait for it.
  static void fill(Event& e, time_point due, std::uint64_t order, TimerListener* listener,
                   std::uint32_t index) {
    e.due = due;
    e.order = order;
    e.listener = listener;
    e.index = index;
  }

  std::vector<Event> events_;       // a heap, the next on top
  std::array<Batch, 8> batches_;    // used where the order is that of scheduling
  Batch* filling_ = &batches_[0];   // the one that was added to last
  Batch* emptying_ = &batches_[0];  // and taken from
  std::size_t batched_ = 0;         // events in them
  std::vector<Message> messages_;
  NoticeLookahead lookahead_;
  std::uint64_t scheduled_ = 0;
  std::uint64_t seed_ = 0;
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
  // number taken. The calling thread has no logger of CAF's afterwards.
  std::size_t run(std::size_t events);
  // To be called by what runs there: run() returns after this step.
  void pause() { pausing_ = true; }

  // caf::scheduler::abstract_coordinator
  void start() override;
  void stop() override;
  void enqueue(caf::resumable* job) override;
  VirtualClock& clock() noexcept override { return clock_; }
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
  bool pausing_ = false;
  std::uint64_t seed_ = 0;
  Random random_{0};
};

}  // namespace troupe
