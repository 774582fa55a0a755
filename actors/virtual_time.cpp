#include "actors/virtual_time.hpp"

#include "actors/mute.hpp"
#include "core/base/assert.hpp"

#include <algorithm>

namespace troupe {
void VirtualClock::set_seed(std::uint64_t seed) {
  seed_ = seed;
}

void VirtualClock::ring_after(Duration time, Sleeper& sleeper, std::uint32_t lane) {
  schedule(current_time + time, &sleeper, lane);
}

void VirtualClock::schedule_message(time_point due, caf::strong_actor_ptr receiver,
                                    caf::mailbox_element_ptr content) {
  messages_.push_back({std::move(receiver), std::move(content)});
  schedule(due, nullptr, static_cast<std::uint32_t>(messages_.size() - 1));
}

void VirtualClock::schedule(time_point due, Sleeper* sleeper, std::uint32_t index) {
  // `mix` is a bijection: orders stay distinct.
  const std::uint64_t order = seed_ == 0 ? scheduled_ : mix(scheduled_ ^ mix(seed_));
  ++scheduled_;
  events_.push_back({due, order, sleeper, index});
  std::push_heap(events_.begin(), events_.end(), later);
}

void VirtualClock::advance() {
  TROUPE_ASSERT(!events_.empty());
  const time_point due = events_.front().due;
  current_time = std::max(current_time, due);
  while (!events_.empty() && events_.front().due == due) {
    std::pop_heap(events_.begin(), events_.end(), later);
    const Event event_due = events_.back();
    events_.pop_back();
    if (event_due.sleeper != nullptr) {
      event_due.sleeper->on_alarm(event_due.index);
    } else {
      Message& message = messages_[event_due.index];
      message.receiver->enqueue(std::move(message.content), nullptr);
    }
  }
  if (events_.empty()) messages_.clear();
}

void VirtualClock::drop_all() {
  events_.clear();
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
  std::size_t taken = 0;
  for (; taken < events; ++taken) {
    if (jobs_.empty()) {
      if (clock_.is_empty()) break;
      clock_.advance();
      continue;
    }
    caf::resumable* job = take_job();
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

// CAF's own printer would be a thread.
void VirtualTime::start() {
  utility_actors_[printer_id] = system().spawn<Mute, caf::hidden>();
}

void VirtualTime::stop() {
  // Lets actors that were told to quit do so, without letting time pass.
  clock_.drop_all();
  caf::anon_send_exit(utility_actors_[printer_id], caf::exit_reason::kill);
  while (!jobs_.empty()) run(1);
}

}  // namespace troupe
