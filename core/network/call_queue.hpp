// Calls for a thread that spins for a while before it sleeps.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

//   queue.push([=] { ... }, [&] { wake the owner });
//
// The owner runs what take() returns, and asks may_sleep() before it sleeps.
class CallQueue {
 public:
  using Call = std::function<void()>;

  // Thread-safe. If the owner may be asleep, calls `wake`; the owner gets the call after that.
  template <class Wake>
  void push(Call call, const Wake& wake) {
    push(std::move(call));
    wake_owner(wake);
  }

  // Thread-safe. The same without waking: for a caller that does the owner's work next.
  void push(Call call) {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    is_empty_.store(false, std::memory_order_relaxed);
  }

  // Thread-safe. Calls `wake` if the owner may be asleep.
  template <class Wake>
  void wake_owner(const Wake& wake) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(owner_sleeps_, false)) wake();
  }

  // The functions below are for one thread at a time; may_sleep() and awake() are the owner's.

  // May miss what is being pushed at this moment.
  bool is_empty() const { return is_empty_.load(std::memory_order_relaxed); }

  // All calls, in the order in which they were pushed.
  std::vector<Call> take() {
    const std::lock_guard lock(mutex_);
    is_empty_.store(true, std::memory_order_relaxed);
    return std::exchange(calls_, {});
  }

  // False if there are calls. Else the next push wakes the owner, unless awake() is called first.
  bool may_sleep() {
    const std::lock_guard lock(mutex_);
    owner_sleeps_ = calls_.empty();
    return owner_sleeps_;
  }
  void awake() {
    const std::lock_guard lock(mutex_);
    owner_sleeps_ = false;
  }

 private:
  std::mutex mutex_;
  std::vector<Call> calls_;
  bool owner_sleeps_ = false;
  std::atomic<bool> is_empty_ = true;
};

}  // namespace troupe
