// The messages between the actors of a run. They contain values only: ids, counts and flat arrays.
#pragma once

#include "actors/inspect_id.hpp"
#include "core/backend/backend.hpp"
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

// The actors of a run, by ResourceId. A resource that has had no work yet is null. The runtime sets
// an actor before it sends the first window that has work for it. A resource may look up the actors
// of all items that its shares name.
using ResourceActors = std::shared_ptr<const std::vector<caf::actor>>;

// coordinator → resource: the actors of all resources. Answered with Ready.
struct Introduce {
  ResourceActors resources;
};
// resource → coordinator: the resource is set up and can receive shares.
struct Ready {
  ResourceId resource;
};
// runtime → coordinator: one more window, and the resources that have work for the first time.
struct AddWindow {
  Window window;
  std::vector<ResourceId> joining;
};
// runtime → coordinator: no more windows will follow.
struct EndOfWindows {};
// runtime → coordinator: begin with the first window.
struct Begin {};
// coordinator → resource: the resource's share of a window.
struct AssignShare {
  Share share;
};
// runtime → coordinator → resource: answer with Watched as soon as this item has finished.
struct Watch {
  WindowItem item;
};
// resource → coordinator: a watched item has finished. With its record, unless its share was sent
// back and has that.
struct Watched {
  WindowItem item;
  Instant start = Share::never;
  Instant end = Share::never;
  std::uint16_t track = 0;
  Duration busy{0};                     // of a transfer
  std::uint32_t shortest_chunk_ns = 0;  // likewise
};
// resource → resource: one dependency of each of these items of the receiver is satisfied.
struct Notice {
  // The notice then fills one cache line and needs no memory of its own.
  static constexpr std::size_t items_max = 14;
  std::uint32_t window = 0;
  std::uint32_t count = 0;
  std::array<std::uint32_t, items_max> item;

  std::span<const std::uint32_t> items() const { return {item.data(), count}; }
};
// backend or clock → resource: the work on this slot is finished. With times if the backend knows
// them.
struct SlotDone {
  std::uint32_t slot;
  Instant start = Share::never;
  Instant end = Share::never;
};
// backend → resource: the work on these slots is finished.
struct SlotsDone {
  std::vector<Completions::Ended> all;
};
// backend → resource: the work on this slot has failed.
struct SlotFailed {
  std::uint32_t slot;
  std::string cause;
};
// resource → coordinator: the number of items done since the run began.
struct Progress {
  ResourceId resource;
  std::uint64_t done;  // items, over all shares
};
// resource → coordinator: a complete share, with its records.
struct ShareComplete {
  ResourceId resource;
  std::uint64_t done;  // as in Progress
  Share share;
};
// resource → coordinator: this unit has failed.
struct Failure {
  ResourceId resource;
  UnitId unit;
  std::string cause;
};
// runtime → coordinator: these resources of a simulated node are lost, for this reason.
struct LoseResources {
  std::vector<ResourceId> resources;
  std::string cause;
};
// coordinator → resource: these units, which are sorted, will never be done: end what is under way
// of them, at once and without records, and start no more items.
struct Abandon {
  std::shared_ptr<const std::vector<UnitId>> units;
};
// coordinator → resource: start no more items.
struct Stop {};
// coordinator → resource: answer with Collected as soon as no item is running, and quit.
struct Collect {};
// resource → coordinator: all shares that are not complete.
struct Collected {
  ResourceId resource;
  std::uint64_t done;  // as in Progress
  std::vector<Share> shares;
};
// coordinator → resource: answer with Status.
struct StatusRequest {
  std::uint64_t round;
};
struct Status {
  std::uint64_t round;
  CoordinatorLogic::Status status;
};
// runtime → coordinator: end the run early.
struct Interrupt {};
// runtime → coordinator: don't wait any longer for resources whose work is under way. Follows
// Interrupt.
struct Leave {};
// coordinator → itself, or runtime → coordinator when no event is left: ask every resource for its
// status.
struct CheckStall {};

// These may come from another node, or go there (actors/nodes/node_protocol.hpp).
template <class Inspector>
auto inspect(Inspector& f, Ready& x) {
  return f(caf::meta::type_name("Ready"), x.resource);
}
template <class Inspector>
auto inspect(Inspector& f, WindowItem& x) {
  return f(caf::meta::type_name("WindowItem"), x.window, x.ref.resource, x.ref.item);
}
template <class Inspector>
auto inspect(Inspector& f, Watch& x) {
  return f(caf::meta::type_name("Watch"), x.item);
}
template <class Inspector>
auto inspect(Inspector& f, Watched& x) {
  return f(caf::meta::type_name("Watched"), x.item, x.start, x.end, x.track, x.busy,
           x.shortest_chunk_ns);
}
template <class Inspector>
auto inspect(Inspector& f, Progress& x) {
  return f(caf::meta::type_name("Progress"), x.resource, x.done);
}
template <class Inspector>
auto inspect(Inspector& f, Failure& x) {
  return f(caf::meta::type_name("Failure"), x.resource, x.unit, x.cause);
}
template <class Inspector>
auto inspect(Inspector& f, Stop&) {
  return f(caf::meta::type_name("Stop"));
}
template <class Inspector>
auto inspect(Inspector& f, Collect&) {
  return f(caf::meta::type_name("Collect"));
}
template <class Inspector>
auto inspect(Inspector& f, StatusRequest& x) {
  return f(caf::meta::type_name("StatusRequest"), x.round);
}
template <class Inspector>
auto inspect(Inspector& f, Status& x) {
  return f(caf::meta::type_name("Status"), x.round, x.status.resource, x.status.in_flight,
           x.status.done, x.status.pending, x.status.missing, x.status.chunks_sent,
           x.status.chunks_arrived);
}

}  // namespace troupe

// The others don't leave the process, so their types need no serialization.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Introduce)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::AddWindow)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::EndOfWindows)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Begin)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::AssignShare)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Notice)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::SlotDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::SlotsDone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::SlotFailed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ShareComplete)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::LoseResources)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Abandon)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Collected)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Interrupt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::Leave)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::CheckStall)
