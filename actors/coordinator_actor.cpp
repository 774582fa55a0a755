#include "actors/coordinator_actor.hpp"

#include "actors/messages.hpp"
#include "core/base/sliding_vector.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

class CoordinatorActor : public caf::event_based_actor {
 public:
  CoordinatorActor(caf::actor_config& config, ResourceActors resources, CoordinatorHooks* hooks,
                   const Clock& clock, Duration stall_check_interval)
      : caf::event_based_actor(config),
        logic_(resources->size()),
        hooks_(hooks),
        clock_(clock),
        stall_check_interval_(stall_check_interval),
        resources_(std::move(resources)) {
    set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  }

  caf::behavior make_behavior() override {
    return {
        [this](Begin) {
          is_told_to_begin_ = true;
          begin_if_ready();
        },
        [this](Ready) {
          ++ready_;
          begin_if_ready();
        },
        [this](AddWindow& message) {
          for (const ResourceId resource : message.joining) join(resource);
          Window& window = message.window;
          const CoordinatorLogic::WindowSize size{.shares = window.shares.size(),
                                                  .items = window.items,
                                                  .timed = window.timed,
                                                  .waits = window.waits};
          windows_.push_back({.to_send = std::move(window.shares), .finished = {}});
          logic_.on_window(size, clock_.instant());
          act();
          has_first_window_ = true;
          begin_if_ready();
        },
        [this](EndOfWindows) {
          logic_.on_end_of_windows(clock_.instant());
          act();
          has_first_window_ = true;
          begin_if_ready();
        },
        [this](const Progress& p) { on_progress(p.resource, p.done); },
        [this](ShareComplete& complete) {
          on_progress(complete.resource, complete.done);
          const std::uint32_t window = complete.share.window;
          windows_[window].finished.emplace_back(complete.resource, std::move(complete.share));
          logic_.on_share_complete(window, clock_.instant());
          act();
        },
        [this](const Failure& f) {
          logic_.on_failure({.cause = f.cause, .unit = f.unit});
          act();
        },
        [this](Interrupt) {
          logic_.on_interrupt();
          act();
        },
        [this](Collected& last) {
          on_progress(last.resource, last.done);
          for (Share& share : last.shares) {
            result_.shares.emplace_back(last.resource, std::move(share));
          }
          logic_.on_collected(last.resource);
          act();
        },
        [this](CheckStall) {
          if (!logic_.is_running()) return;
          if (statuses_.size() == asked_) {
            ++round_;
            statuses_.clear();
            asked_ = joined_.size();
            send_to_all(StatusRequest{round_});
          }
          if (stall_check_interval_ > Duration{0})
            delayed_send(this, stall_check_interval_, CheckStall{});
        },
        [this](const Status& s) {
          if (s.round != round_) return;
          statuses_.push_back(s.status);
          if (statuses_.size() < asked_) return;
          logic_.on_all_statuses(statuses_);
          act();
        },
    };
  }

 private:
  const caf::actor& actor(ResourceId resource) const { return (*resources_)[resource.index()]; }
  template <class Message>
  void send_to_all(const Message& message) {
    for (const ResourceId resource : joined_) send(actor(resource), message);
  }

  void join(ResourceId resource) {
    if (logic_.is_ending()) return;  // nobody will need it, and the runtime ends its actor
    joined_.insert(std::upper_bound(joined_.begin(), joined_.end(), resource), resource);
    known_.emplace(actor(resource).id(), resource);
    monitor(actor(resource));
    send(actor(resource), Introduce{resources_});
  }

  // Waits for those that the first windows need: their threads are set up before the clock starts.
  // A resource that joins later gets its share right behind its introduction.
  void begin_if_ready() {
    if (has_begun_ || !is_told_to_begin_ || !has_first_window_ || ready_ < joined_.size()) return;
    has_begun_ = true;
    logic_.on_begin(clock_.instant());
    act();
    if (stall_check_interval_ > Duration{0})
      delayed_send(this, stall_check_interval_, CheckStall{});
  }

  bool has_joined(ResourceId resource) const {
    return std::binary_search(joined_.begin(), joined_.end(), resource);
  }

  void on_progress(ResourceId resource, std::uint64_t items) {
    logic_.on_progress(resource, items);
    hooks_->items_done.store(logic_.items_done(), std::memory_order_relaxed);
  }

  void act() {
    while (!logic_.commands().empty()) {
      for (const CoordinatorLogic::Command& command : std::exchange(logic_.commands(), {})) {
        std::visit([this](const auto& c) { carry_out(c); }, command);
      }
    }
  }

  void carry_out(const CoordinatorLogic::SendWindow& command) {
    for (auto& [resource, share] : std::exchange(windows_[command.window].to_send, {})) {
      send(actor(resource), AssignShare{std::move(share)});
    }
  }
  void carry_out(const CoordinatorLogic::WindowDone& command) {
    ResourceShares finished = std::exchange(windows_[command.window].finished, {});
    windows_.forget_before(command.window + 1);
    if (hooks_->on_window_done) {
      hooks_->on_window_done(std::move(finished));
    } else {
      std::move(finished.begin(), finished.end(), std::back_inserter(result_.shares));
    }
  }
  void carry_out(CoordinatorLogic::StopAll) { send_to_all(Stop{}); }
  void carry_out(CoordinatorLogic::CollectAll) {
    send_to_all(Collect{});
    // Those without an actor have nothing to hand in.
    for (std::size_t r = 0; r < resources_->size(); ++r) {
      if (!has_joined(ResourceId::at(r))) logic_.on_collected(ResourceId::at(r));
    }
  }
  void carry_out(CoordinatorLogic::Finish) {
    is_finished_ = true;
    end_if_alone();
  }

  // A resource that goes before it has handed in what is left has crashed.
  void on_down(const caf::down_msg& down) {
    ++down_;
    if (const auto gone = known_.find(down.source.id()); gone != known_.end()) {
      const ResourceId resource = gone->second;
      if (down.reason != caf::exit_reason::normal) {
        logic_.on_failure(
            {.cause = fmt::format("the actor of {} ended unexpectedly ({})",
                                  hooks_->resource_name(resource), caf::to_string(down.reason))});
      }
      logic_.on_collected(resource);
    }
    act();
    end_if_alone();
  }

  // The result is out only when every resource's actor has quit: then no thread of theirs touches
  // the store any more.
  void end_if_alone() {
    if (!is_finished_ || down_ < joined_.size()) return;
    result_.ending = logic_.outcome();
    result_.failure = logic_.failure();
    result_.origin = logic_.origin();
    for (std::size_t w = windows_.first(); w < windows_.size(); ++w) {
      auto& finished = windows_[w].finished;
      std::move(finished.begin(), finished.end(), std::back_inserter(result_.shares));
    }
    hooks_->result.set_value(std::move(result_));
    if (hooks_->on_end) hooks_->on_end();
    quit();
  }

  struct WindowShares {
    ResourceShares to_send;   // until it has begun
    ResourceShares finished;  // that came back
  };

  CoordinatorLogic logic_;
  SlidingVector<WindowShares> windows_;  // by number, those that aren't done
  CoordinatorHooks* hooks_;
  const Clock& clock_;
  Duration stall_check_interval_;
  const ResourceActors resources_;
  std::vector<ResourceId> joined_;  // in their order
  std::unordered_map<caf::actor_id, ResourceId> known_;
  bool is_told_to_begin_ = false;
  bool has_first_window_ = false;  // or knows that none will come
  bool has_begun_ = false;
  std::size_t ready_ = 0;
  std::size_t down_ = 0;
  std::uint64_t round_ = 0;
  std::size_t asked_ = 0;
  std::vector<CoordinatorLogic::Status> statuses_;
  bool is_finished_ = false;
  RunResult result_;
};

}  // namespace

caf::actor spawn_coordinator(caf::actor_system& system, ResourceActors resources,
                             CoordinatorHooks& hooks, const Clock& clock,
                             Duration stall_check_interval, caf::execution_unit* thread) {
  caf::actor_config config(thread);
  return system.spawn_class<CoordinatorActor, caf::no_spawn_options>(
      config, std::move(resources), &hooks, std::cref(clock), stall_check_interval);
}

}  // namespace troupe
