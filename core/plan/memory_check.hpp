// Can each memory hold what must be in it at once?
#pragma once

#include "core/plan/plan.hpp"

namespace troupe {

// Storage on a file system that doesn't tell its size: the run finds out.
bool is_unlimited(const Memory& memory);

// Walks the units in graph order and frees each tensor after its last reader. Throws a usage Error
// with op, device, needed and available at the first tensor that doesn't fit.
void check_memory(const Graph& graph, const Machine& machine, const Plan& plan);

}  // namespace troupe
