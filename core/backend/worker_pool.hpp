// Threads that run blocking jobs: copies, disk requests, kernels of streams.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

// Starts a thread when a job finds no idle one, up to a limit; further jobs wait for their turn. A
// thread has the CPU affinity of the thread whose submit() started it. Thread-safe.
class WorkerPool {
 public:
  class Job {
   public:
    virtual void run() noexcept = 0;

   protected:
    ~Job() = default;
  };

  // `enter` is called first on each thread (to pin it, say); it must not throw.
  explicit WorkerPool(std::size_t threads_max, std::function<void()> enter = {});
  // Blocks until all jobs have run.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // The pool that all links of this process share. It exists as long as one of them holds it. Its
  // limit is two threads per processing unit of this host, but at least 16: the processor bounds
  // copies, the number of requests that a disk handles at once bounds disk requests.
  static std::shared_ptr<WorkerPool> of_links();

  // Starts threads up to the limit. Throws std::system_error if the host can't start one.
  void start_all();
  // Runs the job, which must live until then, on a thread of the pool. Doesn't block. Throws a run
  // Error if the pool has no thread and can't start one; then the job isn't run. A job that submits
  // another one wakes no thread for it: its own is free next, so nothing long may follow in it.
  void submit(Job& job);

 private:
  // A thread of a pool.
  struct Worker {
    WorkerPool* pool;
    bool is_expected = false;  // to take a job next for which none was woken
  };

  void start_thread();  // with the mutex held
  void work();

  static thread_local Worker* current_;

  const std::size_t threads_max_;
  const std::function<void()> enter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job*> jobs_;
  std::size_t idle_ = 0;
  std::size_t expected_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
