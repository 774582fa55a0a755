// A CoordinatorLogic for tests, which gives its commands as words.
#pragma once

#include "core/run/coordinator_logic.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

using Names = std::vector<std::string>;
using Sizes = std::vector<CoordinatorLogic::WindowSize>;

inline constexpr ResourceId r0{0};
inline constexpr ResourceId r1{1};

struct CommandName {
  std::string operator()(const CoordinatorLogic::SendWindow& c) const {
    return "send " + std::to_string(c.window);
  }
  std::string operator()(const CoordinatorLogic::WindowDone& c) const {
    return "done " + std::to_string(c.window);
  }
  std::string operator()(CoordinatorLogic::StopAll) const { return "stop"; }
  std::string operator()(CoordinatorLogic::CollectAll) const { return "collect"; }
  std::string operator()(CoordinatorLogic::Finish) const { return "finish"; }
};

// A coordinator of two resources. Checks its invariants after every event; each event returns the
// commands that it gave.
class Coordinator {
 public:
  // All windows are added before the run begins.
  explicit Coordinator(const Sizes& windows) : Coordinator() {
    for (const CoordinatorLogic::WindowSize& size : windows) {
      BOOST_TEST(window(size) == Names{});
    }
    BOOST_TEST(last_window() == Names{});
  }
  Coordinator() : logic_(2) {}

  Names window(const CoordinatorLogic::WindowSize& size, int at = 0) {
    return after([&] { logic_.on_window(size, Instant{Duration{at}}); });
  }
  Names last_window(int at = 0) {
    return after([&] { logic_.on_end_of_windows(Instant{Duration{at}}); });
  }
  Names begin(int at = 0) {
    return after([&] { logic_.on_begin(Instant{Duration{at}}); });
  }
  Names progress(ResourceId r, std::uint64_t done) {
    return after([&] { logic_.on_progress(r, done); });
  }
  Names complete(std::uint32_t window, int at = 0) {
    return after([&] { logic_.on_share_complete(window, Instant{Duration{at}}); });
  }
  Names fail(const std::string& cause, UnitId unit = {}) {
    return after([&] { logic_.on_failure({.cause = cause, .unit = unit}); });
  }
  Names interrupt() {
    return after([&] { logic_.on_interrupt(); });
  }
  Names hand_in(ResourceId r) {
    return after([&] { logic_.on_collected(r); });
  }
  Names statuses(const CoordinatorLogic::Status& a, const CoordinatorLogic::Status& b) {
    return statuses(std::vector{a, b});
  }
  Names statuses(const std::vector<CoordinatorLogic::Status>& all) {
    return after([&] { logic_.on_all_statuses(all); });
  }
  const CoordinatorLogic& logic() const { return logic_; }

 private:
  template <class Event>
  Names after(const Event& event) {
    event();
    logic_.check_invariants();
    Names names;
    for (const auto& c : std::exchange(logic_.commands(), {})) {
      names.push_back(std::visit(CommandName{}, c));
    }
    return names;
  }

  CoordinatorLogic logic_;
};

inline CoordinatorLogic::Status status(ResourceId r, std::uint32_t in_flight, std::uint64_t done) {
  return {.resource = r, .in_flight = in_flight, .done = done};
}

}  // namespace troupe::testing
