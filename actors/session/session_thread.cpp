// What the thread of a session does.
#include "actors/session/session_core.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace troupe {
namespace {

// With fewer ops in flight, a device may soon be idle: what is called is handed out at once.
constexpr std::uint64_t few_items_in_flight = 256;
// Planning so many together costs little more than planning one.
constexpr std::size_t batch_calls = 1 << 13;
constexpr std::size_t windows_in_flight_max = 4;
// How long to wait while all devices have enough to do: a small part of what that takes.
constexpr auto look_again = std::chrono::milliseconds(10);

}  // namespace

bool SessionCore::is_ended() const {
  const bool is_empty = log_.size() == 0 && handing_out_.size() == 0 && engine_->is_idle();
  const bool is_used = reads_in_place_ > 0 || !errands_.empty();
  return is_closing_ && !is_used && (failure_ || is_empty);
}

bool SessionCore::wants_to_hand_out() const {
  if (log_.size() == 0 || handing_out_.size() > 0 || failure_) return false;
  if (flush_to_ > called_ - log_.size()) return true;
  if (has_virtual_time_) return is_full(log_);
  if (engine_->windows() >= windows_in_flight_max) return false;
  return log_.size() >= batch_calls || is_full(log_) ||
         engine_->items_in_flight() < few_items_in_flight;
}

// Virtual time passes only while somebody waits, or while what was handed out has no room yet.
bool SessionCore::lets_time_pass() const {
  if (!has_virtual_time_ || failure_ || engine_->is_idle()) return false;
  return is_closing_ || handing_out_.size() > 0 ||
         std::any_of(waiters_.begin(), waiters_.end(), [](const Waiter* w) { return !w->is_done; });
}

void SessionCore::work() {
  Lock lock(mutex_);
  for (;;) {
    for (Waiter* const waiter : waiters_) {
      if (waiter->is_done || !has_come(*waiter)) continue;
      waiter->is_done = true;
      waiter->told.notify_one();
    }
    for_callers_.notify_all();
    if (is_ended()) break;
    const bool hands_out = wants_to_hand_out();
    const bool lets_pass = !hands_out && lets_time_pass();
    if (has_news_ || hands_out || lets_pass || !errands_.empty()) {
      step(lock, hands_out, lets_pass);
      continue;
    }
    // More calls change nothing while earlier ones are being handed out.
    wake_at_ = handing_out_.size() > 0                            ? 0
               : has_virtual_time_                                ? log_calls_max
               : engine_->items_in_flight() < few_items_in_flight ? 1
                                                                  : batch_calls;
    if (handing_out_.size() > 0 && engine_->has_enough()) {
      for_thread_.wait_for(lock, look_again);
      has_news_ = true;
    } else {
      for_thread_.wait(lock);
    }
    wake_at_ = 0;
  }
  lock.unlock();
  // Here: the thread that closes the session may be any, and if the session is a static object, it
  // has lost what CAF needs of a thread.
  engine_.reset();
  cluster_.reset();
}

// The engine must not be busy.
bool SessionCore::has_come(Waiter& waiter) {
  if (failure_) return false;
  if (waiter.call > engine_->handed_out()) return false;
  if (waiter.tensor == nullptr) {
    if (waiter.call <= engine_->completed()) return true;
    if (!waiter.device) return false;
  }
  const UnitId pending = waiter.tensor != nullptr ? engine_->pending(*waiter.tensor)
                                                  : engine_->pending(waiter.device, waiter.call);
  if (pending && pending != waiter.watched) engine_->watch(pending);
  waiter.watched = pending;
  return !pending;
}

void SessionCore::step(Lock& lock, bool hands_out, bool lets_time_pass) {
  has_news_ = false;
  if (hands_out) handing_out_ = std::exchange(log_, {});
  const std::vector<Errand*> errands = std::exchange(errands_, {});
  is_busy_ = true;
  const bool has_failed = failure_.has_value();
  lock.unlock();
  if (is_full(handing_out_)) for_callers_.notify_all();
  for (Errand* const errand : errands) {
    try {
      errand->work();
    } catch (...) {
      errand->failure = std::current_exception();
    }
  }
  std::optional<Error> failure;
  try {
    if (lets_time_pass) engine_->proceed();
    engine_->retire();
    if (!has_failed) engine_->hand_out(handing_out_);
    if (!has_failed && engine_->has_failed()) failure = engine_->failure();
  } catch (const std::exception& error) {  // of planning, or for want of memory
    failure = as_error(error);
  } catch (...) {
    failure = run_error("an op kind threw something that is no std::exception");
  }
  lock.lock();
  is_busy_ = false;
  for (Errand* const errand : errands) errand->is_done = true;
  if (failure) fail(std::move(*failure));
}

}  // namespace troupe
