#include "actors/virtual_time.hpp"

#include "core/base/assert.hpp"

#include <algorithm>

namespace troupe {

void VirtualClock::schedule_message(time_point due, caf::strong_actor_ptr receiver,
                                    caf::mailbox_element_ptr content) {
  events_.push_back({due, scheduled_++, std::move(receiver), std::move(content)});
  std::push_heap(events_.begin(), events_.end(), later);
}

void VirtualClock::advance() {
  TROUPE_ASSERT(!events_.empty());
  const time_point due = events_.front().due;
  current_time = std::max(current_time, due);
  while (!events_.empty() && events_.front().due == due) {
    std::pop_heap(events_.begin(), events_.end(), later);
    Event next = std::move(events_.back());
    events_.pop_back();
    next.receiver->enqueue(std::move(next.content), nullptr);
  }
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

// CAF's own printer would be a thread; nothing here prints through CAF.
void VirtualTime::start() {
  utility_actors_[printer_id] = system().spawn<caf::hidden>(
      [](caf::event_based_actor*) -> caf::behavior { return {[](caf::unit_t) {}}; });
}

void VirtualTime::stop() {
  // Lets actors that were told to quit do so, without letting time pass.
  clock_.drop_all();
  caf::anon_send_exit(utility_actors_[printer_id], caf::exit_reason::kill);
  while (!jobs_.empty()) run(1);
}

}  // namespace troupe
