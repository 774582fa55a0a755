// A thread that carries out the work of one lane: a direction of a link, a stream of a device.
#pragma once

#include "core/backend/backend.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace troupe {

// Runs one job at a time and tells Completions of its end: completed(lane), or failed(lane, what)
// where the job throws.
//
//   LaneWorker worker(completions, lane);
//   worker.submit([=] { std::memcpy(to, from, bytes); });
//   return {.state = Started::State::pending};
class LaneWorker {
 public:
  // `enter` is called first on the worker's thread (to pin it, say); it must not throw.
  // `completions` must outlive the worker.
  LaneWorker(Completions& completions, std::uint32_t lane, std::function<void()> enter = {});
  // Blocks until the job under way has ended and been told.
  ~LaneWorker();
  LaneWorker(const LaneWorker&) = delete;
  LaneWorker& operator=(const LaneWorker&) = delete;

  // Begins a job; doesn't block. The lane must be idle: the last job's end has been told, or is
  // being told (a completion may submit the next job).
  void submit(std::function<void()> job);

 private:
  void work();

  Completions& completions_;
  const std::uint32_t lane_;
  std::function<void()> enter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace troupe
