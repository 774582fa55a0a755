// Where tensors of a memory that is full can go.
#pragma once

#include "actors/session/window_room.hpp"
#include "core/machine/machine.hpp"
#include "core/machine/route.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

// Tensors go to another memory of the same node, and only if there is none to one of another node;
// to RAM, and only if there is none to storage; among those, to the one that has most room.
class Refuges {
 public:
  // `machine` must outlive it. `room` has refused a call, for which room is left in all memories:
  // so what goes out of one for it never keeps it from another one.
  Refuges(const Machine& machine, const WindowRoom& room);

  // Takes so many bytes of a memory that can be reached from this one, and of those on the way.
  // Returns none if no memory has room.
  MemoryId take(MemoryId from, std::uint64_t bytes);
  // A memory without room on the way to one with room, for which take() has found none.
  MemoryId full_on_the_way() const { return full_; }

 private:
  bool is_better(MemoryId a, MemoryId b, MemoryId from) const;
  bool has_room_on_the_way(MemoryId from, MemoryId to, std::uint64_t bytes);

  const Machine& machine_;
  Router router_;
  std::vector<std::uint64_t> available_;  // by memory
  MemoryId full_;
  Route route_;  // the last that was looked at
};

}  // namespace troupe
