#include "core/backend/worker_pool.hpp"

#include "core/base/error.hpp"
#include "core/base/forks.hpp"

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {

thread_local WorkerPool::Worker* WorkerPool::current_ = nullptr;

WorkerPool::WorkerPool(std::size_t threads_max, std::function<void()> enter)
    : threads_max_(threads_max), enter_(std::move(enter)) {}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::shared_ptr<WorkerPool> WorkerPool::of_links() {
  static std::mutex mutex;
  static std::weak_ptr<WorkerPool> current;
  static std::uint32_t forks = 0;
  constexpr std::size_t threads_min = 16;
  const std::lock_guard lock(mutex);
  const std::uint32_t forks_now = fork_count();
  if (forks_now != forks) current.reset();  // its threads are not here
  forks = forks_now;
  std::shared_ptr<WorkerPool> pool = current.lock();
  if (pool == nullptr) {
    pool = std::make_shared<WorkerPool>(
        std::max(threads_min, std::size_t{2} * std::thread::hardware_concurrency()));
    current = pool;
  }
  return pool;
}

void WorkerPool::start_all() {
  const std::lock_guard lock(mutex_);
  while (threads_.size() < threads_max_) start_thread();
}

void WorkerPool::submit(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    if (current_ != nullptr && current_->pool == this && !current_->is_expected) {
      jobs_.push_back(&job);
      current_->is_expected = true;
      ++expected_;
      return;
    }
    if (idle_ + expected_ <= jobs_.size() && threads_.size() < threads_max_) {
      try {
        start_thread();
      } catch (const std::system_error& error) {
        // Where there are others, the job waits for one of them.
        if (threads_.empty()) {
          throw run_error(fmt::format("could not start a worker thread: {}", error.what()),
                          "give this process more threads and memory (ulimit -u, ulimit -v)");
        }
      }
    }
    jobs_.push_back(&job);
  }
  changed_.notify_one();
}

void WorkerPool::start_thread() {
  threads_.emplace_back([this] { work(); });
}

void WorkerPool::work() {
  if (enter_) enter_();
  Worker self{.pool = this};
  current_ = &self;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) return;
    Job* const job = jobs_.front();
    jobs_.pop_front();
    lock.unlock();
    job->run();
    lock.lock();
    if (std::exchange(self.is_expected, false)) --expected_;
  }
}

}  // namespace troupe
