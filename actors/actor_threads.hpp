// Real time: a CAF scheduler under which actors that compute have a thread each, and the others
// share a few.
#pragma once

#include "core/base/shared_table.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <caf/all.hpp>
#include <caf/detail/thread_safe_actor_clock.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

namespace troupe {

// How a thread waits for messages.
enum class Waiting {
  asleep,  // woken by the kernel, which takes some microseconds
  // Spins for some ten microseconds, then sleeps: for actors that exchange small messages. With a
  // Poll it spins for some hundred: a thread that sleeps is woken by way of the other thread, which
  // takes so long that the other end of an exchange goes to sleep meanwhile, and so on.
  briefly,
};

// Has a thread that belongs to others call a function: soon, after those that it was given before,
// and not within them. `polls_next`: the caller calls the Poll next, so that thread isn't woken.
// Thread-safe. False: that thread takes no more, or may not be used.
using Post = std::function<bool(std::function<void()> function, bool polls_next)>;
// What saves a thread that waits for such a thread from being woken by it. Thread-safe; empty where
// there is no such thread.
struct Poll {
  // Does here, once, what such a thread does all the time. True if something has happened.
  std::function<bool()> once = {};
  // Has that thread go on by itself, at once. May be empty.
  std::function<void()> leave = {};

  explicit operator bool() const { return once != nullptr; }
};

// A CAF module, loaded with `config.load<ActorThreads>()`. An actor with a thread of its own may
// block that thread: other actors go on. All other actors, those of CAF included, share threads and
// should block only briefly.
//
//   caf::actor_config config(threads.start_own_thread(Waiting::briefly));
//   system.spawn_class<Device, caf::no_spawn_options>(config, …);
class ActorThreads final : public caf::scheduler::abstract_coordinator {
 public:
  explicit ActorThreads(caf::actor_system& system);
  ~ActorThreads() override;

  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>);
  // The one that `system` was built with.
  static ActorThreads& of(caf::actor_system& system);

  // How many threads actors share at most: one per processing unit of this host, but at least 8.
  static std::size_t shared_threads_max();

  // Both must be called by one thread, the one that spawns actors; actors may be at work meanwhile.
  // They throw std::system_error where the host gives no more threads, and so they do if the
  // threads of the actor system itself could not be started.
  //
  // Starts a thread for one actor, which must be spawned on the unit that is returned. A thread
  // that waits briefly polls while it spins, and calls poll_if_due() before it blocks.
  caf::execution_unit* start_own_thread(Waiting waiting, Poll poll = {});
  // For one actor that must not block, which is spawned on the unit that is returned: it runs on
  // the thread behind `post`, or, once that takes no more, on the threads that actors share. What
  // was posted must be called even so. Starts no thread.
  caf::execution_unit* borrow_thread(Post post);
  // One more actor will share threads: starts one more, up to shared_threads_max().
  void start_shared_thread();
  // From now on the threads of those that wait briefly run only where no other thread of this host
  // wants to: thousands at work don't keep the coordinator from ending the run. For the thread that
  // spawns actors.
  void give_way();
  // Polls if this thread is an actor's own and has sent something to an actor on a borrowed thread
  // since it last polled. Must be called before such a thread blocks in a message handler.
  static void poll_if_due();
  // If this thread is an actor's own and polls, it won't do so for more than 100 us from now on.
  static void leave_poll();
  // Lends this thread, which must not be an actor's, to the next actor that it sends a message to:
  // if the message finds the actor asleep, the actor handles it here, when the loan ends, and no
  // other thread has to be woken. Further messages are handled where the actor is at home.
  class Loan;
  // What an actor can't do when it quits on a thread that was lent: waiting for that thread.
  class LeftOver {
   public:
    virtual void clear_away() = 0;

   protected:
    ~LeftOver() = default;

   private:
    friend class ActorThreads;
    LeftOver* next_ = nullptr;
  };
  // Called by an actor of this system. If it runs on a thread that was lent, has `what` cleared
  // away when the system ends, and returns true. `what` must exist until then; no memory is needed.
  static bool leave_if_lent(caf::actor_system& system, LeftOver& what);
  // How many threads start_shared_thread() starts in that many calls.
  std::size_t shared_threads_for(std::size_t actors) const;

  // caf::scheduler::abstract_coordinator
  void start() override;
  void stop() override;
  void enqueue(caf::resumable* job) override;
  caf::actor_clock& clock() noexcept override { return clock_; }
  bool detaches_utility_actors() const override { return false; }

 private:
  class Unit;      // a thread, as CAF sees it
  class Single;    // where one actor runs
  class Own;       // its own thread
  class Borrowed;  // a thread of others
  class Shared;    // of all other actors
  class Loans;     // threads that are lent, and what was left on them
  struct Home {
    const caf::resumable* actor = nullptr;
    Single* thread = nullptr;
  };

  void add_home(const caf::resumable* actor, Single* thread);

  caf::detail::thread_safe_actor_clock clock_;
  std::thread clock_thread_;
  std::unique_ptr<Shared> shared_;
  std::unique_ptr<Loans> loans_;
  std::exception_ptr start_failure_;                 // of start(); mostly null
  std::vector<std::unique_ptr<Own>> own_;            // used by the spawning thread only
  std::vector<std::unique_ptr<Borrowed>> borrowed_;  // likewise
  SharedTable<Home> homes_;                          // of the actors that are alone on a thread
  std::atomic<std::size_t> home_count_{0};           // that other threads may read
};

class ActorThreads::Loan {
 public:
  Loan();
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

 private:
  friend class ActorThreads;
  static inline thread_local Loan* current_ = nullptr;

  ActorThreads* borrower_ = nullptr;
  caf::resumable* job_ = nullptr;  // null: no actor needs the thread
};

}  // namespace troupe
