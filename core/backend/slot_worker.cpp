#include "core/backend/slot_worker.hpp"

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

SlotWorker::SlotWorker(WorkerPool& pool, Completions& completions, std::uint32_t slot)
    : pool_(pool), completions_(completions), slot_(slot) {}

SlotWorker::~SlotWorker() {
  std::unique_lock lock(mutex_);
  all_reported_.wait(lock, [this] { return unreported_ == 0; });
}

void SlotWorker::submit(std::function<void()> job) {
  const bool was_busy = busy_.exchange(true);
  TROUPE_ASSERT(!was_busy);
  job_ = std::move(job);
  {
    const std::lock_guard lock(mutex_);
    ++unreported_;
  }
  try {
    pool_.submit(*this);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --unreported_;
    busy_ = false;
    throw;
  }
}

void SlotWorker::run() noexcept {
  std::function<void()> job = std::exchange(job_, nullptr);
  std::optional<std::string> cause = run_job(job);
  job = nullptr;  // what the job holds is released before its end is reported
  busy_ = false;  // before the report: its receiver may submit the next job at once
  if (cause) {
    completions_.failed(slot_, std::move(*cause));
  } else {
    completions_.completed_and_lend(slot_);
  }
  const std::lock_guard lock(mutex_);
  if (--unreported_ == 0) all_reported_.notify_all();
}

}  // namespace troupe
