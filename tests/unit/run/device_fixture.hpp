// A DeviceLogic for tests, which finishes ops when the test says so.
#pragma once

#include "core/run/device_logic.hpp"
#include "tests/support/share_maker.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

using Items = std::vector<std::uint32_t>;
using Places = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // windows, items

// A DeviceLogic whose invariants are checked after every event.
class TestedDevice {
 public:
  static constexpr ResourceId self{0};
  explicit TestedDevice(int streams, IssueAhead ahead = {})
      : logic_(self, streams, std::move(ahead)) {}

  void share(const std::vector<Item>& items, std::uint32_t window = 0,
             std::vector<Share::LateEdge> late = {}) {
    Share share = make_share(self, items, window);
    share.late = std::move(late);
    logic_.on_share(std::move(share));
    logic_.check_invariants();
  }
  void notice(const Items& items, std::uint32_t window = 0) {
    logic_.on_notice(window, items);
    logic_.check_invariants();
  }
  // Starts all ops that can start. Returns their items in order.
  Items start() {
    Items started;
    for (const auto& [window, item] : start_places()) started.push_back(item);
    return started;
  }
  Places start_places() {
    Places started;
    while (const auto* next = logic_.next()) {
      logic_.check_invariants();
      started.emplace_back(next->part->share.window, next->item);
      running_.push_back(*next);
    }
    return started;
  }
  // Starts and finishes one op after the other until none is ready. Returns their order.
  Places run() {
    Places order;
    for (Places next = start_places(); !next.empty(); next = start_places()) {
      BOOST_TEST_REQUIRE(next.size() == 1U);
      order.push_back(next[0]);
      finish(next[0].second, next[0].first);
    }
    return order;
  }
  // Finishes a running item now. Returns its slot.
  std::uint32_t finish(std::uint32_t item, std::uint32_t window = 0) {
    const std::uint32_t slot = take(item, window);
    logic_.on_started(slot, now_);
    now_ += Duration{10};
    logic_.on_finished(slot, now_);
    logic_.check_invariants();
    return slot;
  }
  // The item was issued: it stays under way.
  void issue(std::uint32_t item, std::uint32_t window = 0) {
    const std::uint32_t slot = find(item, window)->slot;
    logic_.on_started(slot, now_);
    logic_.on_issued(slot);
    logic_.check_invariants();
  }
  void fail(std::uint32_t item) {
    logic_.on_failed(take(item, 0));
    logic_.check_invariants();
  }
  void stop() {
    logic_.on_stop();
    logic_.check_invariants();
  }
  DeviceLogic& logic() { return logic_; }
  const Share& current_share() const { return logic_.progress().parts().at(0)->share; }
  // Takes a complete share; there must be one.
  Share hand_in() {
    std::optional<Share> share = logic_.progress().take_complete();
    logic_.check_invariants();
    BOOST_TEST_REQUIRE(share.has_value());
    return std::move(*share);
  }

 private:
  std::vector<DeviceLogic::Start>::iterator find(std::uint32_t item, std::uint32_t window) {
    const auto found = std::find_if(running_.begin(), running_.end(), [&](const auto& s) {
      return s.item == item && s.part->share.window == window;
    });
    BOOST_REQUIRE((found != running_.end()));
    return found;
  }
  std::uint32_t take(std::uint32_t item, std::uint32_t window) {
    const auto found = find(item, window);
    const std::uint32_t slot = found->slot;
    BOOST_TEST(logic_.under_way(slot).item == item);
    BOOST_TEST(logic_.under_way(slot).part->share.window == window);
    running_.erase(found);
    return slot;
  }

  DeviceLogic logic_;
  std::vector<DeviceLogic::Start> running_;
  Instant now_{};
};

}  // namespace troupe::testing
