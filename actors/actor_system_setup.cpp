#include "actors/actor_system_setup.hpp"

#include "actors/virtual_time.hpp"
#include "actors/waiting.hpp"
#include "core/base/spare_memory.hpp"

#include <chrono>
#include <iterator>
#include <utility>

#include <caf/logger.hpp>

namespace troupe {

ActorSystemSetup::ActorSystemSetup(bool virtual_time, std::uint64_t seed, Instant begins_at)
    : virtual_time_(virtual_time) {
  if (virtual_time) {
    config_.load<VirtualTime>();
  } else {
    config_.load<ActorThreads>();
  }
  // The system registers a destructor of this thread, and glibc aborts the process if it finds no
  // memory for that. So memory is set aside and freed for it.
  std::make_unique<SpareMemory>().reset();
  caf::logger::current_logger();
  system_ = std::make_unique<caf::actor_system>(config_);
  if (virtual_time) {
    VirtualTime::of(*system_).set_seed(seed);
    VirtualTime::of(*system_).clock().begin_at(begins_at);
  } else {
    real_clock_.emplace(*system_);
  }
}

void ActorSystemSetup::leave_thread() {
  caf::logger::set_current_actor_system(nullptr);
}

Clock& ActorSystemSetup::clock() {
  if (virtual_time_) return VirtualTime::of(*system_).clock();
  return *real_clock_;
}

caf::execution_unit* ActorSystemSetup::start_thread(Waiting waiting, Poll poll) {
  if (virtual_time_) return nullptr;
  return ActorThreads::of(*system_).start_own_thread(waiting, std::move(poll));
}

caf::execution_unit* ActorSystemSetup::borrow_thread(Post post) {
  return virtual_time_ ? nullptr : ActorThreads::of(*system_).borrow_thread(std::move(post));
}

caf::execution_unit* ActorSystemSetup::start_shared_thread() {
  if (!virtual_time_) ActorThreads::of(*system_).start_shared_thread();
  return nullptr;
}

std::size_t ActorSystemSetup::shared_threads_for(std::size_t actors) const {
  return virtual_time_ ? 0 : ActorThreads::of(*system_).shared_threads_for(actors);
}

void ActorSystemSetup::give_way() {
  if (!virtual_time_) ActorThreads::of(*system_).give_way();
}

Duration ActorSystemSetup::stall_check_interval() const {
  return virtual_time_ ? Duration{0} : std::chrono::seconds(1);
}

void ActorSystemSetup::pause() {
  if (virtual_time_) VirtualTime::of(*system_).pause();
}

bool ActorSystemSetup::proceed() {
  constexpr std::size_t events = 1 << 14;
  return VirtualTime::of(*system_).run(events) > 0;
}

void ActorSystemSetup::let_pass_until(const std::function<bool()>& holds) {
  while (virtual_time_ && !holds()) let_pass(*system_);
}

void ActorSystemSetup::settle(std::vector<caf::actor> actors) {
  if (!virtual_time_) return;
  wait_for_end(*system_, actors);
  std::move(actors.begin(), actors.end(), std::back_inserter(settled_));
}

}  // namespace troupe
