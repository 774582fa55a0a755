#include "core/backend/lane_worker.hpp"

#include "core/base/assert.hpp"

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace troupe {
namespace {

// What went wrong, or nothing.
std::optional<std::string> run_job(const std::function<void()>& job) {
  try {
    job();
    return std::nullopt;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace

LaneWorker::LaneWorker(Completions& completions, std::uint32_t lane, std::function<void()> enter)
    : completions_(completions),
      lane_(lane),
      enter_(std::move(enter)),
      thread_([this] { work(); }) {}

LaneWorker::~LaneWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void LaneWorker::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    TROUPE_ASSERT(!busy_);
    job_ = std::move(job);
    busy_ = true;
  }
  changed_.notify_one();
}

void LaneWorker::work() {
  if (enter_) enter_();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return busy_ || stopping_; });
    if (!busy_) return;
    auto job = std::exchange(job_, nullptr);
    lock.unlock();
    auto cause = run_job(job);
    job = nullptr;  // what it holds goes before its end is told
    lock.lock();
    busy_ = false;  // before it is told: whoever hears of it may submit the next job at once
    lock.unlock();
    if (cause) {
      completions_.failed(lane_, std::move(*cause));
    } else {
      completions_.completed(lane_);
    }
    lock.lock();
  }
}

}  // namespace troupe
