// A CAF scheduler and clock with virtual time: runs are deterministic and don't wait for time to
// pass.
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

// Time doesn't pass while messages are delivered. When no message is left it advances to the
// earliest due event. Events with the same due time happen in the order they were scheduled, or in
// a random order given by the seed. Call from one thread only.
class VirtualClock final : public caf::detail::test_actor_clock, public Clock {
 public:
  void set_seed(std::uint64_t seed);
  // Before anything has happened.
  void begin_at(Instant time) { current_time = time_point{time.time_since_epoch()}; }

  Instant instant() const override {
    return Instant{std::chrono::duration_cast<Duration>(current_time.time_since_epoch())};
  }
  Instant instant_after(Instant) const override { return instant(); }
  // The timer calls the listener directly, on the thread in VirtualTime::run(). A simulation starts
  // a timer for each op, and a message for each would cost more than all other work.
  void start_timer(Duration delay, TimerListener& listener, std::uint32_t slot) override;

  NoticeLookahead* lookahead() override { return &lookahead_; }

  using caf::detail::test_actor_clock::schedule_message;
  void schedule_message(time_point due, caf::strong_actor_ptr receiver,
                        caf::mailbox_element_ptr content) override;

  bool is_empty() const { return events_.empty() && batched_ == 0; }
  // Advances to the earliest due time and delivers all events due then. There must be an event.
  void advance();
  void drop_all();

 private:
  // A timer or, if `listener` is null, a message.
  struct Event {
    time_point due;
    std::uint64_t order;
    TimerListener* listener;
    std::uint32_t index;  // a timer's slot; a message's index in messages_
  };
  struct Message {
    caf::strong_actor_ptr receiver;
    caf::mailbox_element_ptr content;
  };
  static bool later(const Event& a, const Event& b) {
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }
  void schedule(time_point due, TimerListener* listener, std::uint32_t index);

  // Events with the same due time, in the order they were scheduled. Most events of a simulation
  // have one of a few due times, because ops of one class take equally long. Batches keep such
  // events out of the heap.
  struct Batch {
    time_point due{};
    std::vector<Event> events = {};
    std::size_t next = 0;
    bool is_empty() const { return next == events.size(); }
  };

  Batch* batch_of(time_point due);
  Batch* earliest_batch();
  bool take_next(time_point until, Event& next);
  // Written field by field, in place: copying an event that was just stored would stall on that
  // store.
  static void fill(Event& e, time_point due, std::uint64_t order, TimerListener* listener,
                   std::uint32_t index) {
    e.due = due;
    e.order = order;
    e.listener = listener;
    e.index = index;
  }

  std::vector<Event> events_;       // a heap, the earliest on top
  std::array<Batch, 8> batches_;    // used without a seed only
  Batch* filling_ = &batches_[0];   // an event was added to it last
  Batch* emptying_ = &batches_[0];  // an event was taken from it last
  std::size_t batched_ = 0;         // number of events in batches
  std::vector<Message> messages_;
  NoticeLookahead lookahead_;
  std::uint64_t scheduled_ = 0;
  std::uint64_t seed_ = 0;
};

// A single-threaded scheduler (a CAF module, loaded with `config.load<VirtualTime>()`). Actors run
// only during run(), on the thread that calls it; there must be no detached or blocking actors.
// With seed 0, actors are resumed in the order they became runnable. With any other seed, the
// next actor is chosen at random and handles one message, so that every order of concurrent
// messages can occur.
class VirtualTime final : public caf::scheduler::abstract_coordinator {
 public:
  explicit VirtualTime(caf::actor_system& system);

  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>);
  // The scheduler of `system`, which must be a VirtualTime.
  static VirtualTime& of(caf::actor_system& system);
  // The same; null if it is another one.
  static VirtualTime* find(caf::actor_system& system);

  void set_seed(std::uint64_t seed);

  // Delivers messages and advances time until no event is left or `events` steps were taken.
  // Returns the number of steps taken. Detaches CAF's logger from the calling thread.
  std::size_t run(std::size_t events);
  // Makes run() return after the current step. Call from within run() only.
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
