#include "actors/coordinator_actor.hpp"

#include "actors/crash_reasons.hpp"
#include "actors/messages.hpp"
#include "core/base/sliding_vector.hpp"
#include "core/run/lost_units.hpp"
#include "core/run/records.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

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
    set_exception_handler([this](std::exception_ptr& cause) { return crash(cause); });
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
          windows_.push_back({.to_send = std::move(window.shares), .sent = {}, .finished = {}});
          logic_.on_window(size, clock_.instant());
          act();
          has_first_window_ = true;
          begin_if_ready();
        },
        [this](const Watch& watch) { pass_on(watch); },
        [this](const Watched&) { hooks_->on_watched(); },
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
        [this](const LoseResources& lost) {
          // Also while what was under way at an earlier loss finishes.
          send_to_all(Abandon{units_lost_with(lost.resources)});
          logic_.on_failure({.cause = lost.cause});
          act();
        },
        [this](Interrupt) {
          logic_.on_interrupt();
          act();
        },
        [this](Leave) { leave(); },
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
          // Resources that start nothing any more aren't stuck.
          if (hooks_->interrupted != nullptr && *hooks_->interrupted) {
            logic_.on_interrupt();
            return act();
          }
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
    // Of high priority as Stop{} is, which must not come before it.
    send<caf::message_priority::high>(actor(resource), Introduce{resources_});
  }

  void pass_on(const Watch& watch) {
    const std::uint32_t window = watch.item.window;
    const ItemRef& item = watch.item.ref;
    if (!windows_.holds(window)) return hooks_->on_watched();  // done
    ResourceShares& to_send = windows_[window].to_send;
    const auto waiting = std::find_if(to_send.begin(), to_send.end(), [&](const auto& share) {
      return share.first == item.resource;
    });
    if (waiting == to_send.end()) return send(actor(item.resource), watch);
    waiting->second.late.push_back(
        {.window = window, .item = item.item, .to = {.resource = {}, .item = item.item}});
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

  std::shared_ptr<const std::vector<UnitId>> units_lost_with(
      const std::vector<ResourceId>& resources) const {
    std::vector<bool> is_lost(resources_->size(), false);
    for (const ResourceId resource : resources) is_lost[resource.index()] = true;
    std::vector<SentShare> sent;
    for (std::size_t w = windows_.first(); w < windows_.size(); ++w) {
      sent.insert(sent.end(), windows_[w].sent.begin(), windows_[w].sent.end());
    }
    return std::make_shared<const std::vector<UnitId>>(lost_units(sent, is_lost));
  }

  void act() {
    while (!logic_.commands().empty()) {
      for (const CoordinatorLogic::Command& command : std::exchange(logic_.commands(), {})) {
        std::visit([this](const auto& c) { carry_out(c); }, command);
      }
    }
  }

  void carry_out(const CoordinatorLogic::SendWindow& command) {
    WindowShares& window = windows_[command.window];
    window.sent.reserve(window.to_send.size());
    for (auto& [resource, share] : std::exchange(window.to_send, {})) {
      window.sent.emplace_back(resource, share);
      send(actor(resource), AssignShare{std::move(share)});
    }
  }
  void carry_out(const CoordinatorLogic::WindowDone& command) {
    ResourceShares finished = std::exchange(windows_[command.window].finished, {});
    windows_.forget_before(command.window + 1);
    hooks_->on_window_done(std::move(finished));
  }
  // Before the notices that wait there, each of which may start an op.
  void carry_out(CoordinatorLogic::StopAll) {
    for (const ResourceId resource : joined_) {
      send<caf::message_priority::high>(actor(resource), Stop{});
    }
  }
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

  // A resource actor that quits before it has sent Collected has crashed.
  void on_down(const caf::down_msg& down) {
    ++down_;
    if (const auto gone = known_.find(down.source.id()); gone != known_.end()) {
      const ResourceId resource = gone->second;
      if (down.reason != caf::exit_reason::normal) {
        logic_.on_failure(
            {.cause = CrashReasons::describe(hooks_->resource_name(resource), down.reason)});
      }
      logic_.on_collected(resource);
    }
    act();
    end_if_alone();
  }

  // Sets the result only after every resource actor has quit, so that no thread of an actor uses
  // the store any more; but where one has crashed on a thread that was lent, its other kernels may.
  void end_if_alone() {
    if (!is_finished_ || down_ < joined_.size()) return;
    end();
  }

  // Reads the shares that are still out, and sets the result though their actors are at work. Those
  // quit when they come to the message Collect.
  void leave() {
    std::vector<bool> is_known(resources_->size(), false);
    for (std::size_t w = windows_.first(); w < windows_.size(); ++w) {
      std::vector<bool> is_back(resources_->size(), false);
      for (const auto& [resource, share] : windows_[w].finished) is_back[resource.index()] = true;
      for (const SentShare& sent : windows_[w].sent) {
        if (is_back[sent.resource().index()] || logic_.is_collected(sent.resource())) continue;
        const Share& read = result_.shares.emplace_back(sent.resource(), sent.read()).second;
        for (const Share::Item& item : read.items) {
          if (item.start != Share::never && !item.finished()) {
            result_.under_way.push_back(item.unit);
            is_known[sent.resource().index()] = true;
          }
        }
      }
    }
    std::ranges::copy_if(joined_, std::back_inserter(result_.not_awaited),
                         [&](ResourceId resource) {
                           return !logic_.is_collected(resource) && !is_known[resource.index()];
                         });
    end();
  }

  void end() {
    if (std::exchange(has_result_, true)) return;
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

  // Ends the run at once: without a coordinator no share will come back.
  caf::error crash(const std::exception_ptr& cause) {
    if (!std::exchange(has_result_, true)) {
      hooks_->result.set_exception(cause);
      if (hooks_->on_end) hooks_->on_end();
    }
    return crash_.take(cause);
  }

  struct WindowShares {
    ResourceShares to_send;       // empty once the window has been sent
    std::vector<SentShare> sent;  // where to find the shares that were sent
    ResourceShares finished;      // the shares that were sent back
  };

  CoordinatorLogic logic_;
  SlidingVector<WindowShares> windows_;  // by number; only windows that aren't done
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
  bool has_result_ = false;  // hooks_->result
  RunResult result_;
  CrashReasons crash_;
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
