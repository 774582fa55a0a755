// What the items of a plan's shares know of those that come after them.
#pragma once

#include "core/plan/memory_order.hpp"
#include "core/plan/plan.hpp"

#include <span>

namespace troupe {

// Fills first_successor and successors of every share from the predecessors of the units and from
// `room`, whose edges also add to what items wait for. What waits for an earlier window is not a
// successor: windows follow each other whole.
void link_successors(Plan& plan, std::span<const RoomEdge> room);

// Fills the rank of every item: expected times along the longest way to the end of the plan.
void rank_units(Plan& plan);

}  // namespace troupe
