// How work passes the queues of a simulated device or link that issues ahead.
#pragma once

#include "core/backend/backend.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe {

// Streams of a device, or directions of a link, each of which carries out its work in the order of
// issue. When work will end is known at once, so that is its token.
class SimulatedQueues {
 public:
  SimulatedQueues(std::size_t queues, std::uint32_t depth) : depth_(depth), ends_(queues) {}

  // `issue`: null if nothing is issued ahead.
  Started start(std::uint32_t slot, Duration expected, Issue* issue) {
    if (issue == nullptr) return {.state = Started::State::after, .after = expected};
    Instant& end = ends_[slot / depth_];
    Instant begin = std::max(issue->now, end);
    for (const Token& token : issue->after) begin = std::max(begin, time_of(token));
    end = begin + expected;
    issue->begins = begin - issue->now;
    issue->token = {.queue = 0, .position = static_cast<std::uint64_t>(ns_of(end))};
    return {.state = Started::State::after, .after = end - issue->now};
  }

 private:
  static std::int64_t ns_of(Instant time) { return time.time_since_epoch().count(); }
  static Instant time_of(const Token& token) {
    return Instant{Duration{static_cast<std::int64_t>(token.position)}};
  }

  const std::uint32_t depth_;
  std::vector<Instant> ends_;  // of what was issued last
};

// By the machine file: 0 unless a device has an issue depth, which its links share.
std::uint32_t simulated_issue_depth(const Machine& machine, DeviceId device);
std::uint32_t simulated_issue_depth(const Machine& machine, LinkId link);

// The order of all simulated resources: they understand each other's tokens.
inline constexpr std::string_view simulated_order = "simulated";

}  // namespace troupe
