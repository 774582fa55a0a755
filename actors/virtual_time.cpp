#include "actors/virtual_time.hpp"

#include "actors/silent_printer.hpp"
#include "core/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
void VirtualClock::set_seed(std::uint64_t seed) {
  seed_ = seed;
}

void VirtualClock::start_timer(Duration delay, TimerListener& listener, std::uint32_t slot) {
  schedule(current_time + delay, &listener, slot);
}

void VirtualClock::schedule_message(time_point due, caf::strong_actor_ptr receiver,
                                    caf::mailbox_element_ptr content) {
  messages_.push_back({std::move(receiver), std::move(content)});
  schedule(due, nullptr, static_cast<std::uint32_t>(messages_.size() - 1));
}

void VirtualClock::schedule(time_point due, TimerListener* listener, std::uint32_t index) {
  due = std::max(due, current_time);  // a due time in the past means now
  // `mix` is a bijection, so orders stay distinct.
  const std::uint64_t order = seed_ == 0 ? scheduled_ : mix(scheduled_ ^ mix(seed_));
  ++scheduled_;
  if (seed_ == 0) {
    if (Batch* const batch = batch_of(due)) {
      ++batched_;
      return fill(batch->events.emplace_back(), due, order, listener, index);
    }
  }
  fill(events_.emplace_back(), due, order, listener, index);
  std::push_heap(events_.begin(), events_.end(), later);
}

// Returns the batch with this due time, else an empty one; null if there is neither.
VirtualClock::Batch* VirtualClock::batch_of(time_point due) {
  if (!filling_->is_empty() && filling_->due == due) return filling_;
  Batch* free = nullptr;
  for (Batch& batch : batches_) {
    if (batch.is_empty()) {
      free = &batch;
    } else if (batch.due == due) {
      return filling_ = &batch;
    }
  }
  if (free == nullptr) return nullptr;
  free->due = due;
  free->events.clear();
  free->next = 0;
  return filling_ = free;
}

// Returns null if all batches are empty. No two batches have the same due time.
VirtualClock::Batch* VirtualClock::earliest_batch() {
  // No event is due earlier than the current time.
  if (!emptying_->is_empty() && emptying_->due == current_time) return emptying_;
  Batch* first = nullptr;
  for (Batch& batch : batches_) {
    if (!batch.is_empty() && (first == nullptr || batch.due < first->due)) first = &batch;
  }
  return first == nullptr ? nullptr : emptying_ = first;
}

// Removes the earliest event, if it is due at `until` or before. Returns false if there is none.
bool VirtualClock::take_next(time_point until, Event& next) {
  Batch* const batch = earliest_batch();
  const bool from_heap =
      !events_.empty() && (batch == nullptr || later(batch->events[batch->next], events_.front()));
  if (from_heap) {
    if (events_.front().due > until) return false;
    next = events_.front();
    std::pop_heap(events_.begin(), events_.end(), later);
    events_.pop_back();
    return true;
  }
  if (batch == nullptr || batch->due > until) return false;
  next = batch->events[batch->next++];
  --batched_;
  announce_ahead(
      batch->events, batch->next, [](const Event& e) { return e.listener; },
      [](LookaheadTarget& target, const Event& e, std::uint32_t step) {
        target.before_finish(e.index, step);
      });
  return true;
}

void VirtualClock::advance() {
  Event next;
  const bool found = take_next(time_point::max(), next);
  TROUPE_ASSERT(found);
  current_time = next.due;
  const time_point due = next.due;
  do {
    if (next.listener != nullptr) {
      next.listener->on_timer(next.index);
    } else {
      Message& message = messages_[next.index];
      message.receiver->enqueue(std::move(message.content), nullptr);
    }
  } while (take_next(due, next));
  if (is_empty()) messages_.clear();
}

void VirtualClock::drop_all() {
  events_.clear();
  for (Batch& batch : batches_) batch = Batch{};
  batched_ = 0;
  messages_.clear();
}

VirtualTime::Unit::Unit(VirtualTime& parent)
    : caf::execution_unit(&parent.system()), parent_(parent) {}

VirtualTime::VirtualTime(caf::actor_system& system)
    : abstract_coordinator(system), unit_(std::make_unique<Unit>(*this)) {}

caf::actor_system::module* VirtualTime::make(caf::actor_system& system, caf::detail::type_list<>) {
  return new VirtualTime(system);  // CAF's module table takes ownership
}

VirtualTime& VirtualTime::of(caf::actor_system& system) {
  return dynamic_cast<VirtualTime&>(system.scheduler());
}

VirtualTime* VirtualTime::find(caf::actor_system& system) {
  return dynamic_cast<VirtualTime*>(&system.scheduler());
}

void VirtualTime::set_seed(std::uint64_t seed) {
  seed_ = seed;
  random_ = Random(seed);
  clock_.set_seed(seed);
}

void VirtualTime::enqueue(caf::resumable* job) {
  jobs_.push_back(job);
}

caf::resumable* VirtualTime::take_job() {
  if (seed_ != 0) std::swap(jobs_.front(), jobs_[random_.below(jobs_.size())]);
  caf::resumable* job = jobs_.front();
  jobs_.pop_front();
  return job;
}

std::size_t VirtualTime::run(std::size_t events) {
  const std::size_t messages_at_once = seed_ == 0 ? 64 : 1;
  // With a logger, CAF would write the receiver of every message to a table.
  caf::logger::set_current_actor_system(nullptr);
  std::size_t taken = 0;
  pausing_ = false;
  for (; taken < events && !pausing_; ++taken) {
    if (jobs_.empty()) {
      clock_.lookahead()->on_all_handled();
      if (clock_.is_empty()) break;
      clock_.advance();
      continue;
    }
    caf::resumable* job = take_job();
    clock_.lookahead()->on_turn();
    switch (job->resume(unit_.get(), messages_at_once)) {
      case caf::resumable::resume_later:
        enqueue(job);
        break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message:
        caf::intrusive_ptr_release(job);
        break;
      case caf::resumable::shutdown_execution_unit:
        TROUPE_ASSERT(false);
    }
  }
  return taken;
}

// CAF's own printer would run on a second thread.
void VirtualTime::start() {
  utility_actors_[printer_id] = system().spawn<SilentPrinter, caf::hidden>();
}

void VirtualTime::stop() {
  // Actors handle their exit messages now; time doesn't advance.
  clock_.drop_all();
  caf::anon_send_exit(utility_actors_[printer_id], caf::exit_reason::kill);
  while (!jobs_.empty()) run(1);
}

}  // namespace troupe
