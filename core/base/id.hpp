// Small typed indices, so that a device can't be passed where a memory is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace troupe {

template <class Tag>
struct Id {
  static constexpr std::uint32_t none_value = 0xFFFFFFFFU;
  std::uint32_t value = none_value;

  static constexpr Id none() { return Id{}; }
  static constexpr Id at(std::size_t index) { return Id{static_cast<std::uint32_t>(index)}; }
  constexpr explicit operator bool() const { return value != none_value; }
  constexpr std::size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using OpId = Id<struct OpTag>;          // an op of a graph, and the one tensor it makes
using OpKindId = Id<struct OpKindTag>;  // a row of an OpRegistry
using GroupId = Id<struct GroupTag>;    // the ops that one task of a graph stands for
using DeviceId = Id<struct DeviceTag>;
using MemoryId = Id<struct MemoryTag>;
using LinkId = Id<struct LinkTag>;
// A machine may consist of nodes, each of which has an operating system, devices and memories.
using NodeId = Id<struct NodeTag>;

}  // namespace troupe

template <class Tag>
struct std::hash<troupe::Id<Tag>> {
  std::size_t operator()(troupe::Id<Tag> id) const noexcept { return id.value; }
};
