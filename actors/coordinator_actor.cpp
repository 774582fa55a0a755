#include "actors/coordinator_actor.hpp"

#include "actors/clock.hpp"
#include "actors/messages.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

std::vector<CoordinatorLogic::WindowSize> sizes(const std::vector<Window>& windows) {
  std::vector<CoordinatorLogic::WindowSize> result;
  for (const Window& w : windows) result.push_back({.items = w.items, .timed = w.timed});
  return result;
}

class CoordinatorActor : public caf::event_based_actor {
 public:
  CoordinatorActor(caf::actor_config& config, std::vector<Window> windows, std::size_t resources,
                   Podium* podium, Duration pulse)
      : caf::event_based_actor(config),
        logic_(resources, sizes(windows)),
        windows_(std::move(windows)),
        podium_(podium),
        pulse_(pulse) {
    set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  }

  caf::behavior make_behavior() override {
    return {
        [this](Introduce& who) {
          resources_ = std::move(who.resources);
          for (const caf::actor& r : *resources_) {
            monitor(r);
            send(r, Introduce{resources_});
          }
        },
        [this](Ready) {
          if (++ready_ < resources_->size()) return;
          logic_.on_begin(instant_of(clock()));
          act();
          if (pulse_ > Duration{0}) delayed_send(this, pulse_, CheckPulse{});
        },
        [this](const Progress& p) {
          logic_.on_progress(p.resource, p.window, p.done, instant_of(clock()));
          podium_->items_done.store(logic_.items_done(), std::memory_order_relaxed);
          act();
        },
        [this](const Failure& f) {
          logic_.on_failure(fmt::format("{}: {}", podium_->unit_name(f.unit), f.cause));
          act();
        },
        [this](Interrupt) {
          logic_.on_interrupt();
          act();
        },
        [this](Records& r) {
          result_.records.emplace_back(r.resource, std::move(r.records));
          logic_.on_records(r.resource);
          act();
        },
        [this](CheckPulse) {
          if (!logic_.is_running()) return;
          if (statuses_.size() == asked_) {
            ++round_;
            statuses_.clear();
            asked_ = resources_->size();
            for (const caf::actor& r : *resources_) send(r, AskStatus{round_});
          }
          if (pulse_ > Duration{0}) delayed_send(this, pulse_, CheckPulse{});
        },
        [this](const Status& s) {
          if (s.round != round_) return;
          statuses_.push_back(s.status);
          if (statuses_.size() < asked_) return;
          logic_.on_all_statuses(statuses_, [this](const auto& stuck) { return describe(stuck); });
          act();
        },
    };
  }

 private:
  std::string describe(const CoordinatorLogic::Status& s) const {
    const std::string name = podium_->unit_name(s.pending);
    if (s.missing == 0) return fmt::format("{} waits for the rest of a transfer", name);
    return fmt::format("{} waits for {} of {}", name, s.missing, podium_->unit_needs(s.pending));
  }

  void act() {
    for (const CoordinatorLogic::Command& command : std::exchange(logic_.commands(), {})) {
      std::visit([this](const auto& c) { carry_out(c); }, command);
    }
  }

  void carry_out(const CoordinatorLogic::SendWindow& command) {
    for (auto& [resource, share] : windows_[command.window].shares) {
      send((*resources_)[resource.index()], TakeShare{std::move(share)});
    }
    windows_[command.window].shares.clear();
  }
  void carry_out(CoordinatorLogic::StopAll) {
    for (const caf::actor& r : *resources_) send(r, Stop{});
  }
  void carry_out(CoordinatorLogic::CollectAll) {
    for (const caf::actor& r : *resources_) send(r, Collect{});
  }
  void carry_out(CoordinatorLogic::Finish) {
    is_finished_ = true;
    end_if_alone();
  }

  // A resource that goes before it has handed in its records has crashed.
  void on_down(const caf::down_msg& down) {
    ++down_;
    for (std::size_t i = 0; i < resources_->size(); ++i) {
      if ((*resources_)[i].address() != down.source) continue;
      const ResourceId resource = ResourceId::at(i);
      if (down.reason != caf::exit_reason::normal) {
        logic_.on_failure(fmt::format("the actor of {} ended unexpectedly ({})",
                                      podium_->resource_name(resource),
                                      caf::to_string(down.reason)));
      }
      logic_.on_records(resource);
    }
    act();
    end_if_alone();
  }

  // The result is out only when every resource's actor has quit: then no thread of theirs touches
  // the store any more.
  void end_if_alone() {
    if (!is_finished_ || down_ < resources_->size()) return;
    result_.ending = logic_.outcome();
    result_.cause = logic_.cause();
    result_.origin = logic_.origin();
    podium_->result.set_value(std::move(result_));
    quit();
  }

  CoordinatorLogic logic_;
  std::vector<Window> windows_;
  Podium* podium_;
  Duration pulse_;
  std::shared_ptr<const std::vector<caf::actor>> resources_ =
      std::make_shared<const std::vector<caf::actor>>();
  std::size_t ready_ = 0;
  std::size_t down_ = 0;
  std::uint64_t round_ = 0;
  std::size_t asked_ = 0;
  std::vector<CoordinatorLogic::Status> statuses_;
  bool is_finished_ = false;
  RunResult result_;
};

}  // namespace

caf::actor spawn_coordinator(caf::actor_system& system, std::vector<Window> windows,
                             std::size_t resources, Podium& podium, Duration pulse,
                             caf::execution_unit* thread) {
  caf::actor_config config(thread);
  return system.spawn_class<CoordinatorActor, caf::no_spawn_options>(config, std::move(windows),
                                                                     resources, &podium, pulse);
}

}  // namespace troupe
