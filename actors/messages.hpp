// What the actors tell each other. Values only: ids, counts and flat arrays.
#pragma once

#include "core/plan/plan.hpp"
#include "core/plan/share.hpp"
#include "core/run/coordinator_logic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <caf/all.hpp>

namespace troupe {

// The actors of a run, by ResourceId. One that has no work so far is null. The runtime sets an
// actor before it sends the first window that has work for it; a resource may look up actors that
// items of its shares mention.
using ResourceActors = std::shared_ptr<const std::vector<caf::actor>>;

// coordinator → resource: the other actors. Answered with Ready.
struct Introduce {
  ResourceActors resources;
};
// resource → coordinator: my thread is set up, send me work.
struct Ready {
  ResourceId resource;
};
// runtime → coordinator: one more window, and the resources that have work for the first time; no
// more windows; begin with the first window.
struct AddWindow {
  Window window;
  std::vector<ResourceId> joining;
};
struct EndOfWindows {};
struct Begin {};
// coordinator → resource: your part of a window.
struct AssignShare {
  Share share;
};
// resource → resource: one dependency of each of these items of yours is done.
struct Notice {
  static constexpr std::size_t items_max =
      14;  // a message of one cache line, with nothing on the heap
  std::uint32_t window = 0;
  std::uint32_t count = 0;
  std::array<std::uint32_t, items_max> item;

  std::span<const std::uint32_t> items() const { return {item.data(), count}; }
};
// resource → itself: the work on this lane is finished (its time has passed, or its backend said
// so).
struct LaneDone {
  std::uint32_t lane;
};
struct LaneFailed {
  std::uint32_t lane;
  std::string cause;
};
// resource → coordinator: so many items are done, of all shares so far.
struct Progress {
  ResourceId resource;
  std::uint64_t done;
};
// resource → coordinator: this share is complete, here it is back.
struct ShareComplete {
  ResourceId resource;
  std::uint64_t done;  // likewise
  Share share;
};
// resource → coordinator: this unit failed.
struct Failure {
  ResourceId resource;
  UnitId unit;
  std::string cause;
};
// coordinator → resource: start nothing more.
struct Stop {};
// coordinator → resource: hand in what is left as soon as you are idle, and quit.
struct Collect {};
struct Collected {
  ResourceId resource;
  std::uint64_t done;  // likewise
  std::vector<Share> shares;
};
// coordinator → resource: how are you? Answered with Status.
struct StatusRequest {
  std::uint64_t round;
};
struct Status {
  std::uint64_t round;
  CoordinatorLogic::Status status;
};
// runtime → coordinator.
struct Interrupt {};
// coordinator → itself, or runtime → coordinator when nothing moves: ask everybody.
struct CheckStall {};

}  // namespace troupe

// Messages stay within the process for now; a distributed run will give these types `inspect`.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Introduce)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Ready)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::AddWindow)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::EndOfWindows)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Begin)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::AssignShare)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Notice)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::LaneDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::LaneFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Progress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ShareComplete)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Failure)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Stop)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Collect)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Collected)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::StatusRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Interrupt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::CheckStall)
