#include "actors/actor_threads.hpp"

#include "actors/silent_printer.hpp"
#include "core/base/assert.hpp"
#include "core/base/give_way.hpp"
#include "core/base/relax.hpp"
#include "core/base/spare_memory.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <caf/logger.hpp>

namespace troupe {
namespace {

// CAF registers a destructor when a thread resumes its first actor, and glibc aborts the process if
// it finds no memory for that. So some is set aside, and freed for it.
class Registration {
 public:
  // Throws std::bad_alloc.
  Registration() {
    const std::lock_guard lock(mutex_);
    spare_ = std::make_unique<SpareMemory>();
  }
  // For the thread that calls this.
  void finish() {
    const std::lock_guard lock(mutex_);
    spare_.reset();
    caf::logger::current_logger();
  }

 private:
  static inline std::mutex mutex_;  // no thread's memory is freed for another one
  std::unique_ptr<SpareMemory> spare_;
};

// A thread that may resume actors. Throws std::bad_alloc and std::system_error.
template <class Work>
std::thread start_actor_thread(Work work) {
  return std::thread([registration = Registration(), work = std::move(work)]() mutable {
    registration.finish();
    work();
  });
}

// Work under way on threads of others.
class UnderWay {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    const std::lock_guard lock(mutex_);  // also while join() is told: it may be the last
    --count_;
    none_.notify_all();
  }
  // Blocks until all has ended.
  void join() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

}  // namespace

class ActorThreads::Unit : public caf::execution_unit {
 public:
  explicit Unit(ActorThreads& parent) : caf::execution_unit(&parent.system()), parent_(parent) {}
  void exec_later(caf::resumable* job) override { parent_.enqueue(job); }
  // Whether the job wants to go on at once.
  bool resume(caf::resumable* job) { return resume(job, parent_.max_throughput()); }
  // The same, after so many messages.
  bool resume(caf::resumable* job, std::size_t messages_max) {
    switch (job->resume(this, messages_max)) {
      case caf::resumable::resume_later:
        return true;
      case caf::resumable::done:
      case caf::resumable::awaiting_message:
        caf::intrusive_ptr_release(job);
        return false;
      case caf::resumable::shutdown_execution_unit:
        break;
    }
    TROUPE_ASSERT(false);
    return false;
  }

 private:
  ActorThreads& parent_;
};

// Where one actor runs. It is scheduled at most once at a time, so there is one job at most.
class ActorThreads::Single : public Unit {
 public:
  explicit Single(ActorThreads& parent) : Unit(parent), parent_(parent) {}

  // The first job comes from the spawning thread: the actor that runs here.
  void exec_later(caf::resumable* job) override {
    if (has_actor_) return Unit::exec_later(job);
    has_actor_ = true;
    parent_.add_home(job, this);
    put(job);
  }
  virtual void put(caf::resumable* job) = 0;

 private:
  ActorThreads& parent_;
  bool has_actor_ = false;  // written before the first job is put, read by its thread after that
};

class ActorThreads::Own final : public Single {
 public:
  Own(ActorThreads& parent, Waiting waiting, Poll poll)
      : Single(parent),
        waiting_(waiting),
        poll_(std::move(poll)),
        thread_(start_actor_thread([this] { work(); })) {}
  ~Own() override {
    stop();
    join();
  }

  void put(caf::resumable* job) override {
    job_.store(job, std::memory_order_release);
    job_.notify_one();
  }
  void give_way() {
    if (waiting_ == Waiting::briefly) troupe::give_way(thread_);
  }
  // Lets the thread end, once its actor has quit.
  void stop() {
    if (stopping_.exchange(true)) return;
    put(&wake_up_);
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  // The one whose thread calls this; null if that is another one.
  static Own* current() { return current_; }
  // Whether this thread, which must be its own, will poll.
  bool promise_poll() {
    is_poll_due_ = static_cast<bool>(poll_);
    return is_poll_due_;
  }
  // What is done in a poll may be due to be followed by another one.
  void poll_if_due() {
    if (is_polling_) return;
    while (is_poll_due_) poll();
  }
  void leave_poll() {
    if (poll_.leave) poll_.leave();
  }

 private:
  bool poll() {
    is_poll_due_ = false;
    is_polling_ = true;
    const bool has_worked = poll_.once();
    is_polling_ = false;
    return has_worked;
  }

  // Ends a wait without there being work.
  class WakeUp final : public caf::resumable {
    resume_result resume(caf::execution_unit*, std::size_t) override { return done; }
    void intrusive_ptr_add_ref_impl() override {}
    void intrusive_ptr_release_impl() override {}
  };

  caf::resumable* await_job() {
    poll_if_due();
    if (waiting_ == Waiting::briefly) {
      const int spins_max = poll_ ? 10'000 : 1'000;
      for (int spins = 0; spins < spins_max; ++spins) {
        if (job_.load(std::memory_order_relaxed) != nullptr) break;
        if (poll_ && spins % spins_a_poll == 0 && poll()) spins = 0;
        // What it waits for may need this core first, such as the coordinator that has been told.
        if (spins % spins_a_yield == spins_a_yield - 1) std::this_thread::yield();
        relax();
      }
      poll_if_due();  // if the last poll has posted something
      if (job_.load(std::memory_order_relaxed) == nullptr) leave_poll();
    }
    job_.wait(nullptr, std::memory_order_acquire);
    return job_.exchange(nullptr, std::memory_order_acquire);
  }

  void work() {
    current_ = this;
    while (!stopping_.load()) {
      caf::resumable* const job = await_job();
      while (resume(job)) poll_if_due();
    }
    poll_if_due();
  }

  static constexpr int spins_a_poll = 4;
  static constexpr int spins_a_yield = 64;
  static inline thread_local Own* current_ = nullptr;

  const Waiting waiting_;
  const Poll poll_;
  bool is_poll_due_ = false;
  bool is_polling_ = false;
  std::atomic<caf::resumable*> job_ = nullptr;
  std::atomic<bool> stopping_ = false;
  WakeUp wake_up_;
  std::thread thread_;  // last: it uses all the others
};

// The threads of all other actors: each takes whatever job is next.
class ActorThreads::Shared final {
 public:
  explicit Shared(ActorThreads& parent) : parent_(parent) {}

  std::size_t threads() const { return threads_.size(); }
  void start_thread() {
    threads_.push_back(start_actor_thread([this] { work(); }));
  }

  void put(caf::resumable* job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(job);
    }
    changed_.notify_one();
  }
  // Does what is left, then ends.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    work();  // where there was no thread
  }

 private:
  void work() {
    Unit unit(parent_);
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      caf::resumable* const job = jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      if (unit.resume(job)) put(job);
    }
  }

  ActorThreads& parent_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<caf::resumable*> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class ActorThreads::Borrowed final : public Single {
 public:
  Borrowed(ActorThreads& parent, Shared& shared, Post post)
      : Single(parent), shared_(shared), post_(std::move(post)) {}

  void put(caf::resumable* job) override {
    posted_.begin();
    Own* const poster = Own::current();
    const bool polls_next = poster != nullptr && poster->promise_poll();
    if (post_([this, job] { work(job); }, polls_next)) return;
    posted_.end();
    shared_.put(job);
  }
  void join() { posted_.join(); }

 private:
  void work(caf::resumable* job) {
    while (resume(job)) {
    }
    posted_.end();
  }

  Shared& shared_;
  const Post post_;
  UnderWay posted_;
};

class ActorThreads::Loans final {
 public:
  // Whether the calling thread takes the job.
  bool take(ActorThreads& borrower, caf::resumable* job) {
    Loan* const loan = Loan::current_;
    if (loan == nullptr || loan->job_ != nullptr) return false;
    under_way_.begin();
    loan->borrower_ = &borrower;
    loan->job_ = job;
    return true;
  }
  void end() { under_way_.end(); }
  void leave(LeftOver& what) {
    const std::lock_guard lock(mutex_);
    what.next_ = std::exchange(left_over_, &what);
  }
  void join() {
    under_way_.join();
    while (left_over_ != nullptr) {
      LeftOver& what = *left_over_;
      left_over_ = what.next_;
      what.clear_away();
    }
  }

 private:
  UnderWay under_way_;
  std::mutex mutex_;
  LeftOver* left_over_ = nullptr;
};

ActorThreads::Loan::Loan() {
  TROUPE_ASSERT(current_ == nullptr);
  thread_local bool is_registered = false;
  if (!is_registered) {
    try {
      Registration().finish();
    } catch (const std::bad_alloc&) {
      return;
    }
    is_registered = true;
  }
  current_ = this;
}

ActorThreads::Loan::~Loan() {
  constexpr std::size_t messages_max = 1;  // what the actor has started here waits meanwhile
  if (job_ != nullptr) {
    if (Unit(*borrower_).resume(job_, messages_max)) borrower_->enqueue(job_);
    borrower_->loans_->end();
  }
  current_ = nullptr;
}

ActorThreads::ActorThreads(caf::actor_system& system)
    : abstract_coordinator(system),
      shared_(std::make_unique<Shared>(*this)),
      loans_(std::make_unique<Loans>()) {}
ActorThreads::~ActorThreads() = default;

caf::actor_system::module* ActorThreads::make(caf::actor_system& system, caf::detail::type_list<>) {
  return new ActorThreads(system);  // CAF's module table takes ownership
}

ActorThreads& ActorThreads::of(caf::actor_system& system) {
  return dynamic_cast<ActorThreads&>(system.scheduler());
}

std::size_t ActorThreads::shared_threads_max() {
  constexpr std::size_t threads_min = 8;  // a few actors may each wait for a disk
  return std::max(threads_min, std::size_t{std::thread::hardware_concurrency()});
}

caf::execution_unit* ActorThreads::start_own_thread(Waiting waiting, Poll poll) {
  if (start_failure_) std::rethrow_exception(start_failure_);
  return own_.emplace_back(std::make_unique<Own>(*this, waiting, std::move(poll))).get();
}

caf::execution_unit* ActorThreads::borrow_thread(Post post) {
  return borrowed_.emplace_back(std::make_unique<Borrowed>(*this, *shared_, std::move(post))).get();
}

void ActorThreads::start_shared_thread() {
  if (start_failure_) std::rethrow_exception(start_failure_);
  if (shared_->threads() < shared_threads_max()) shared_->start_thread();
}

void ActorThreads::poll_if_due() {
  if (Own* const own = Own::current()) own->poll_if_due();
}

void ActorThreads::leave_poll() {
  if (Own* const own = Own::current()) own->leave_poll();
}

void ActorThreads::give_way() {
  for (const auto& own : own_) own->give_way();
}

std::size_t ActorThreads::shared_threads_for(std::size_t actors) const {
  return std::min(actors,
                  shared_threads_max() - std::min(shared_->threads(), shared_threads_max()));
}

void ActorThreads::add_home(const caf::resumable* actor, Single* thread) {
  homes_.push_back({actor, thread});
  home_count_.store(homes_.size(), std::memory_order_release);
}

bool ActorThreads::leave_if_lent(caf::actor_system& system, LeftOver& what) {
  ActorThreads* const borrower = Loan::current_ != nullptr ? Loan::current_->borrower_ : nullptr;
  if (borrower != &system.scheduler()) return false;
  borrower->loans_->leave(what);
  return true;
}

void ActorThreads::enqueue(caf::resumable* job) {
  if (loans_->take(*this, job)) return;
  const std::size_t count = home_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const Home& home = homes_[i];
    if (home.actor == job) return home.thread->put(job);
  }
  shared_->put(job);
}

// CAF's own printer would be one more thread. Called in the constructor of the actor system, which
// CAF can't undo halfway: a failure is kept for whoever starts an actor's thread.
void ActorThreads::start() {
  try {
    shared_->start_thread();
    clock_thread_ = std::thread([this] { clock_.run_dispatch_loop(); });
  } catch (...) {
    start_failure_ = std::current_exception();
  }
  utility_actors_[printer_id] = system().spawn<SilentPrinter, caf::hidden>();
}

void ActorThreads::stop() {
  // All get the signal to stop before the first is joined: each may have to wait for its core.
  for (const auto& own : own_) own->stop();
  for (const auto& own : own_) own->join();
  for (const auto& borrowed : borrowed_) borrowed->join();
  loans_->join();
  caf::anon_send_exit(utility_actors_[printer_id], caf::exit_reason::kill);
  shared_->stop();
  if (!clock_thread_.joinable()) return;
  clock_.cancel_dispatch_loop();
  clock_thread_.join();
}

}  // namespace troupe
