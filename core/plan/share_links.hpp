// What the items of a plan's shares know of those that come after them.
#pragma once

#include "core/plan/plan.hpp"

namespace troupe {

// Fills first_successor and successors of every share from the predecessors of the units. What
// waits for an earlier window is not a successor: windows follow each other whole.
void link_successors(Plan& plan);

// Fills the rank of every item: expected times along the longest way to the end of the plan.
void rank_units(Plan& plan);

}  // namespace troupe
