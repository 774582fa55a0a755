// Runs shares written by hand, with the actors of a small machine.
#pragma once

#include "actors/actor_threads.hpp"
#include "actors/coordinator_actor.hpp"
#include "actors/device_actor.hpp"
#include "actors/link_actor.hpp"
#include "actors/messages.hpp"
#include "actors/real_clock.hpp"
#include "actors/virtual_time.hpp"
#include "tests/support/share_maker.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

// `waits`: the window starts only after all earlier ones have completed.
inline Window window(ResourceShares shares, bool waits = true) {
  Window w;
  for (const auto& [resource, share] : shares) w.items += share.size();
  w.shares = std::move(shares);
  w.waits = waits;
  return w;
}

// Two simulated devices and a link between them, under virtual or real time, which run windows
// written by hand.
class SmallRun {
 public:
  // All windows are added before the run begins.
  SmallRun(bool virtual_time, std::vector<Window> windows) : SmallRun(virtual_time) {
    for (Window& w : windows) take(std::move(w));
    last_window();
  }
  // Windows are added by take(). `on_window_done`: see CoordinatorHooks; if empty, the result gets
  // the shares of all windows.
  explicit SmallRun(bool virtual_time, std::function<void(ResourceShares)> on_window_done = {})
      : virtual_time_(virtual_time) {
    machine_.device("dev0", machine_.memory("a"), 2);
    machine_.device("dev1", machine_.memory("b"));
    machine_.link("link", MemoryId{0}, MemoryId{1});
    store_.emplace(machine_.machine, MemoryStore::Backing::accounted);
    const std::vector<ReplicaSpec> replicas(200, ReplicaSpec{.memory = MemoryId{0}});
    const std::vector<TensorType> types{of_bytes(8)};
    store_->install(replicas, types);
    if (virtual_time) {
      config_.load<VirtualTime>();
    } else {
      config_.load<ActorThreads>();
    }
    system_.emplace(config_);
    if (!virtual_time) {
      real_clock_.emplace(*system_);
    }
    setting_ = make_run_setting(Mode::simulate, machine_.machine, false);
    context_.emplace(RunContext{machine_.machine, builtin_ops(), *store_,
                                virtual_time ? static_cast<Clock&>(time().clock()) : *real_clock_,
                                setting_});
    hooks_.resource_name = [](ResourceId r) { return "resource " + std::to_string(r.value); };
    hooks_.on_window_done = std::move(on_window_done);
    if (!hooks_.on_window_done) {
      hooks_.on_window_done = [this](ResourceShares shares) {
        std::move(shares.begin(), shares.end(), std::back_inserter(completed_));
      };
    }
    result_ = hooks_.result.get_future();
    resources_ = std::make_shared<std::vector<caf::actor>>(3);
    coordinator_ = spawn_coordinator(*system_, resources_, hooks_, context_->clock,
                                     virtual_time ? Duration{0} : stall_check_interval, thread());
  }

  void take(Window window) {
    AddWindow message{std::move(window), {}};
    for (const auto& [resource, share] : message.window.shares) {
      caf::actor& actor = (*resources_)[resource.index()];
      if (actor) continue;
      actor = spawn(resource);
      message.joining.push_back(resource);
    }
    caf::anon_send(coordinator_, std::move(message));
  }
  void last_window() { caf::anon_send(coordinator_, EndOfWindows{}); }
  void begin() { caf::anon_send(coordinator_, Begin{}); }
  void kill(ResourceId resource) {
    caf::anon_send_exit((*resources_)[resource.index()], caf::exit_reason::out_of_workers);
  }
  void interrupt() { caf::anon_send(coordinator_, Interrupt{}); }
  void steps(std::size_t count) {
    if (virtual_time_) time().run(count);
  }

  std::uint64_t items_done() const { return hooks_.items_done; }

  // Returns the result; nullopt if the run hangs.
  std::optional<RunResult> end() {
    for (int round = 0; virtual_time_ && round < 8; ++round) {
      while (time().run(1000) > 0) {
      }
      if (result_.wait_for(Duration{0}) == std::future_status::ready) break;
      caf::anon_send(coordinator_, CheckStall{});
    }
    if (result_.wait_for(virtual_time_ ? Duration{0} : patience) != std::future_status::ready) {
      return std::nullopt;
    }
    RunResult result = result_.get();
    std::move(result.shares.begin(), result.shares.end(), std::back_inserter(completed_));
    result.shares = std::move(completed_);
    return result;
  }

 private:
  static constexpr Duration stall_check_interval = std::chrono::milliseconds(20);
  static constexpr Duration patience = std::chrono::seconds(60);  // only failing tests wait so long

  caf::execution_unit* thread() {
    if (virtual_time_) return nullptr;
    return ActorThreads::of(*system_).start_own_thread(Waiting::asleep);
  }
  caf::actor spawn(ResourceId resource) {
    if (resource.value == 2) {
      return spawn_link(*system_, *context_, LinkId{0}, coordinator_, nullptr);
    }
    return spawn_device(*system_, *context_, DeviceId{resource.value}, coordinator_, thread());
  }
  VirtualTime& time() { return VirtualTime::of(*system_); }

  bool virtual_time_;
  SmallMachine machine_;
  std::optional<MemoryStore> store_;
  caf::actor_system_config config_;
  std::optional<RealClock> real_clock_;  // must outlive the actors
  std::optional<caf::actor_system> system_;
  RunSetting setting_;
  std::optional<RunContext> context_;
  CoordinatorHooks hooks_;
  ResourceShares completed_;  // filled by the coordinator until it has set the result
  std::future<RunResult> result_;
  caf::actor coordinator_;
  std::shared_ptr<std::vector<caf::actor>> resources_;
};

}  // namespace troupe::testing
