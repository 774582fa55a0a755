#include "actors/actor_threads.hpp"

#include "actors/silent_printer.hpp"
#include "core/base/assert.hpp"
#include "core/base/relax.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>

namespace troupe {
class ActorThreads::Unit : public caf::execution_unit {
 public:
  explicit Unit(ActorThreads& parent) : caf::execution_unit(&parent.system()), parent_(parent) {}
  void exec_later(caf::resumable* job) override { parent_.enqueue(job); }

 protected:
  // Whether the job wants to go on at once.
  bool resume(caf::resumable* job) {
    switch (job->resume(this, parent_.max_throughput())) {
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

// An actor is scheduled at most once at a time, so a place for one job will do.
class ActorThreads::Own final : public Unit {
 public:
  Own(ActorThreads& parent, Waiting waiting)
      : Unit(parent), waiting_(waiting), thread_([this] { work(); }) {}
  ~Own() override { stop(); }

  // The first job, which spawning gives, says whose thread this is.
  void exec_later(caf::resumable* job) override {
    if (actor_.load(std::memory_order_relaxed) != nullptr) return Unit::exec_later(job);
    actor_.store(job, std::memory_order_release);
    put(job);
  }
  bool is_of(const caf::resumable* job) const {
    return actor_.load(std::memory_order_acquire) == job;
  }
  void put(caf::resumable* job) {
    job_.store(job, std::memory_order_release);
    job_.notify_one();
  }
  void stop() {
    if (!thread_.joinable()) return;
    stopping_.store(true);
    put(&wake_up_);
    thread_.join();
  }

 private:
  // Ends a wait without there being work.
  class WakeUp final : public caf::resumable {
    resume_result resume(caf::execution_unit*, std::size_t) override { return done; }
    void intrusive_ptr_add_ref_impl() override {}
    void intrusive_ptr_release_impl() override {}
  };

  caf::resumable* await_job() {
    if (waiting_ == Waiting::briefly) {
      for (int spins = 0; spins < 1000; ++spins) {
        if (job_.load(std::memory_order_relaxed) != nullptr) break;
        relax();
      }
    }
    job_.wait(nullptr, std::memory_order_acquire);
    return job_.exchange(nullptr, std::memory_order_acquire);
  }

  void work() {
    while (!stopping_.load()) {
      caf::resumable* const job = await_job();
      while (resume(job)) {
      }
    }
  }

  const Waiting waiting_;
  std::atomic<caf::resumable*> actor_ = nullptr;
  std::atomic<caf::resumable*> job_ = nullptr;
  std::atomic<bool> stopping_ = false;
  WakeUp wake_up_;
  std::thread thread_;  // last: it uses all the others
};

class ActorThreads::Shared final : public Unit {
 public:
  explicit Shared(ActorThreads& parent) : Unit(parent), thread_([this] { work(); }) {}

  void put(caf::resumable* job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(job);
    }
    changed_.notify_one();
  }
  // Does what is left, then ends.
  void stop() {
    put(nullptr);
    thread_.join();
  }

 private:
  void work() {
    for (bool stopping = false;;) {
      std::unique_lock lock(mutex_);
      if (stopping && jobs_.empty()) return;
      changed_.wait(lock, [this] { return !jobs_.empty(); });
      caf::resumable* const job = jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      if (job == nullptr) {
        stopping = true;
      } else if (resume(job)) {
        put(job);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<caf::resumable*> jobs_;
  std::thread thread_;  // last: it uses all the others
};

ActorThreads::ActorThreads(caf::actor_system& system) : abstract_coordinator(system) {}
ActorThreads::~ActorThreads() = default;

caf::actor_system::module* ActorThreads::make(caf::actor_system& system, caf::detail::type_list<>) {
  return new ActorThreads(system);  // CAF's module table takes ownership
}

ActorThreads& ActorThreads::of(caf::actor_system& system) {
  return dynamic_cast<ActorThreads&>(system.scheduler());
}

void ActorThreads::start_threads(std::span<const Waiting> threads) {
  TROUPE_ASSERT(own_.empty());
  for (const Waiting waiting : threads) own_.push_back(std::make_unique<Own>(*this, waiting));
  has_own_.store(true, std::memory_order_release);
}

caf::execution_unit* ActorThreads::thread(std::size_t i) {
  return own_[i].get();
}

void ActorThreads::enqueue(caf::resumable* job) {
  if (has_own_.load(std::memory_order_acquire)) {
    for (const auto& own : own_) {
      if (own->is_of(job)) return own->put(job);
    }
  }
  shared_->put(job);
}

// CAF's own printer would be one more thread.
void ActorThreads::start() {
  shared_ = std::make_unique<Shared>(*this);
  clock_thread_ = std::thread([this] { clock_.run_dispatch_loop(); });
  utility_actors_[printer_id] = system().spawn<SilentPrinter, caf::hidden>();
}

void ActorThreads::stop() {
  for (const auto& own : own_) own->stop();
  caf::anon_send_exit(utility_actors_[printer_id], caf::exit_reason::kill);
  shared_->stop();
  clock_.cancel_dispatch_loop();
  clock_thread_.join();
}

}  // namespace troupe
