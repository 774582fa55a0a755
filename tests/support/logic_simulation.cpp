#include "tests/support/logic_simulation.hpp"

#include "core/base/assert.hpp"

#include <utility>

namespace troupe::testing {

LogicSimulation::LogicSimulation(const Machine& machine, Plan& plan, Options options)
    : options_(options),
      random_(options.seed),
      chief_(machine.devices.size() + machine.links.size()),
      plan_(plan),
      windows_(std::move(plan.windows)),
      mailboxes_(machine.devices.size() + machine.links.size() + 2),
      collecting_(mailboxes_.size()),
      gone_(mailboxes_.size()) {
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    logics_.emplace_back(DeviceLogic(ResourceId::at(d), machine.devices[d].streams));
  }
  for (const Link& link : machine.links) {
    logics_.emplace_back(
        LinkLogic(ResourceId::at(logics_.size()), link.sharing, {}, link.chunk_bytes));
  }
}

RunResult LogicSimulation::run() {
  post(coordinator(), [this] {
    chief_.on_begin(now_);
    act();
  });
  for (const Window& w : windows_) {
    post(runner(),
         [this,
          size = CoordinatorLogic::WindowSize{
              .shares = w.shares.size(), .items = w.items, .timed = w.timed, .waits = w.waits}] {
           chief_.on_window(size, now_);
           act();
         });
  }
  post(runner(), [this] {
    chief_.on_end_of_windows(now_);
    act();
  });
  while (!is_finished_) {
    if (deliver_one()) continue;
    TROUPE_ASSERT(!due_.empty());  // otherwise the run is stuck
    pass_time();
  }
  result_.ending = chief_.outcome();
  result_.failure = chief_.failure();
  result_.origin = chief_.origin();
  plan_.windows.clear();
  for (const Window& window : windows_) plan_.windows.push_back(window.without_shares());
  for (auto& [resource, share] : std::exchange(result_.shares, {})) {
    plan_.windows[share.window - plan_.windows.front().number].shares.emplace_back(
        resource, std::move(share));
  }
  return std::move(result_);
}

// Delivers the oldest message of a randomly chosen mailbox.
bool LogicSimulation::deliver_one() {
  std::vector<std::size_t> waiting;
  for (std::size_t m = 0; m < mailboxes_.size(); ++m) {
    if (!mailboxes_[m].empty()) waiting.push_back(m);
  }
  if (waiting.empty()) return false;
  const std::size_t chosen = waiting[random_.below(waiting.size())];
  const std::function<void()> message = std::move(mailboxes_[chosen].front());
  mailboxes_[chosen].pop_front();
  if (!gone_[chosen]) message();
  return true;
}

void LogicSimulation::pass_time() {
  now_ = due_.begin()->first.first;
  while (!due_.empty() && due_.begin()->first.first == now_) {
    const Due due = due_.begin()->second;
    due_.erase(due_.begin());
    post(due.resource.index(), [this, due] { finish(due); });
  }
}

void LogicSimulation::finish(const Due& due) {
  std::visit(
      [&](auto& logic) {
        const auto& start = logic.under_way(due.slot);
        const UnitId unit = start.part->share.items[start.item].unit;
        if (options_.failing == unit) {
          logic.on_failed(due.slot);
          logic.on_stop();
          post(coordinator(), [this, unit] {
            chief_.on_failure({.cause = "on purpose", .unit = unit});
            act();
          });
        } else {
          logic.on_finished(due.slot, now_);
        }
        logic.check_invariants();
      },
      logics_[due.resource.index()]);
  if (++events_ == options_.interrupt_after) {
    post(coordinator(), [this] {
      chief_.on_interrupt();
      act();
    });
  }
  start_ready(due.resource);
}

void LogicSimulation::start_ready(ResourceId resource) {
  std::visit(
      [&](auto& logic) {
        while (const auto* start = logic.next()) {
          logic.on_started(start->slot, now_);
          logic.check_invariants();
          Duration time{0};
          if constexpr (requires { start->expected; }) {
            time = start->expected;
          } else {
            time = start->part->share.expected(start->item);
          }
          due_[{now_ + time, scheduled_++}] = {resource, start->slot};
        }
        for (const WindowItem& to : std::exchange(logic.notices(), {})) {
          post(to.ref.resource.index(), [this, to] {
            std::visit(
                [&](auto& there) {
                  there.on_notice(to.window, std::span(&to.ref.item, 1));
                  there.check_invariants();
                },
                logics_[to.ref.resource.index()]);
            start_ready(to.ref.resource);
          });
        }
        hand_in(resource, logic.progress());
        logic.check_invariants();
        if (!collecting_[resource.index()] || !logic.is_idle() || gone_[resource.index()]) return;
        gone_[resource.index()] = true;
        post(coordinator(), [this, resource, shares = logic.progress().take_all()] {
          for (const Share& share : shares) result_.shares.emplace_back(resource, share);
          chief_.on_collected(resource);
          act();
        });
      },
      logics_[resource.index()]);
}

// Sends complete shares and the number of items done to the coordinator.
void LogicSimulation::hand_in(ResourceId resource, ShareProgress& progress) {
  const std::uint64_t done = progress.done();
  post(coordinator(), [this, resource, done] {
    chief_.on_progress(resource, done);
    act();
  });
  while (std::optional<Share> share = progress.take_complete()) {
    post(coordinator(), [this, resource, complete = std::move(*share)] {
      result_.shares.emplace_back(resource, complete);
      chief_.on_share_complete(complete.window, now_);
      act();
    });
  }
}

void LogicSimulation::act() {
  chief_.check_invariants();
  for (const CoordinatorLogic::Command& command : std::exchange(chief_.commands(), {})) {
    std::visit([this](const auto& c) { carry_out(c); }, command);
  }
}

void LogicSimulation::carry_out(const CoordinatorLogic::SendWindow& command) {
  for (auto& part : windows_[command.window].shares) {
    const ResourceId to = part.first;
    post(to.index(), [this, to, share = std::move(part.second)] {
      std::visit(
          [&](auto& logic) {
            logic.on_share(share);
            logic.check_invariants();
          },
          logics_[to.index()]);
      start_ready(to);
    });
  }
}

void LogicSimulation::carry_out(CoordinatorLogic::StopAll) {
  for (std::size_t r = 0; r < logics_.size(); ++r) {
    post(r, [this, r] { std::visit([](auto& logic) { logic.on_stop(); }, logics_[r]); });
  }
}

void LogicSimulation::carry_out(CoordinatorLogic::CollectAll) {
  for (std::size_t r = 0; r < logics_.size(); ++r) {
    post(r, [this, r] {
      collecting_[r] = true;
      start_ready(ResourceId::at(r));
    });
  }
}

}  // namespace troupe::testing
