// Completions for tests: queues the completions of a backend and lets the test wait for them.
#pragma once

#include "core/backend/backend.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace troupe::testing {

class WaitingCompletions final : public Completions {
 public:
  struct Told {
    std::uint32_t slot = 0;
    std::optional<std::string> cause;  // if the work failed
  };

  void completed(std::uint32_t slot) override { tell({.slot = slot, .cause = {}}); }
  void failed(std::uint32_t slot, std::string cause) override {
    tell({.slot = slot, .cause = std::move(cause)});
  }

  // Blocks until the next completion and returns it. Throws after 60 s, so that a lost completion
  // fails the test.
  Told wait() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !told_.empty(); })) {
      throw std::runtime_error("a completion was never told");
    }
    Told next = std::move(told_.front());
    told_.pop_front();
    return next;
  }

  // The number of completions since construction.
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  void tell(Told told) {
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(told));
    ++count_;
    changed_.notify_one();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Told> told_;
  std::size_t count_ = 0;
};

}  // namespace troupe::testing
