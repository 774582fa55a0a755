// The work of one slot (a direction of a link, a stream of a device) on the threads of a pool.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/worker_pool.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

namespace troupe {

// Runs one job at a time and reports its end to Completions: completed_and_lend(slot), or
// failed(slot, what) if the job throws.
//
//   SlotWorker worker(pool, completions, slot);
//   worker.submit([=] { std::memcpy(to, from, bytes); });
//   return {.state = Started::State::pending};
class SlotWorker final : private WorkerPool::Job {
 public:
  // `pool` and `completions` must outlive the worker.
  SlotWorker(WorkerPool& pool, Completions& completions, std::uint32_t slot);
  // Blocks until the job under way has ended and its end has been reported.
  ~SlotWorker();
  SlotWorker(const SlotWorker&) = delete;
  SlotWorker& operator=(const SlotWorker&) = delete;

  // Begins a job; doesn't block. The slot must be idle: the end of the last job has been reported,
  // or is being reported (a completion may submit the next job). Throws as WorkerPool::submit does.
  void submit(std::function<void()> job);

 private:
  void run() noexcept override;

  WorkerPool& pool_;
  Completions& completions_;
  const std::uint32_t slot_;
  std::function<void()> job_;
  std::atomic<bool> busy_ = false;  // until the end of the job is about to be reported
  std::mutex mutex_;
  std::condition_variable all_reported_;
  std::size_t unreported_ = 0;  // jobs; several if a completion has submitted the next one
};

}  // namespace troupe
