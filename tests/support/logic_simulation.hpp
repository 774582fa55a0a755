// Runs the state machines of coordinator, devices and links without CAF, in virtual time and with
// messages in a seeded order. Some windows exist when the run begins, others are added during the
// run. Calls check_invariants() after every event.
#pragma once

#include "core/base/random.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/result/summary.hpp"
#include "core/run/coordinator_logic.hpp"
#include "core/run/device_logic.hpp"
#include "core/run/link_logic.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::testing {

class LogicSimulation {
 public:
  struct Options {
    std::uint64_t seed = 0;                             // determines the order of messages
    std::optional<std::uint64_t> interrupt_after = {};  // in finished ops and chunks
    std::optional<UnitId> failing = {};                 // this unit fails at its end
  };

  // The windows of `plan` must have their shares. `machine` and `plan` must outlive the simulation.
  LogicSimulation(const Machine& machine, Plan& plan, Options options);

  // Shares come back into the plan, with their records.
  RunResult run();

 private:
  using Logic = std::variant<DeviceLogic, LinkLogic>;
  using Key = std::pair<Instant, std::uint64_t>;  // due time; order among equal times
  struct Due {
    ResourceId resource;
    std::uint32_t slot = 0;
  };

  std::size_t coordinator() const { return logics_.size(); }
  std::size_t runner() const { return logics_.size() + 1; }
  void post(std::size_t to, std::function<void()> message) {
    mailboxes_[to].push_back(std::move(message));
  }
  bool deliver_one();
  void pass_time();
  void finish(const Due& due);
  void start_ready(ResourceId resource);
  void hand_in(ResourceId resource, ShareProgress& progress);
  void act();
  void carry_out(const CoordinatorLogic::SendWindow& command);
  void carry_out(CoordinatorLogic::WindowDone) {}
  void carry_out(CoordinatorLogic::StopAll);
  void carry_out(CoordinatorLogic::CollectAll);
  void carry_out(CoordinatorLogic::Finish) { is_finished_ = true; }

  Options options_;
  Random random_;
  CoordinatorLogic chief_;
  Plan& plan_;
  std::vector<Window> windows_;
  std::deque<Logic> logics_;  // by resource
  // One for each resource, then the coordinator's, then the runner's.
  std::vector<std::deque<std::function<void()>>> mailboxes_;
  std::vector<bool> collecting_;
  std::vector<bool> gone_;
  std::map<Key, Due> due_;
  Instant now_{};
  std::uint64_t scheduled_ = 0;
  std::uint64_t events_ = 0;
  bool is_finished_ = false;
  RunResult result_;
};

}  // namespace troupe::testing
