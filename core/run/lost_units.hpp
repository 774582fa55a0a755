// Which units will never be done when resources are lost while they are at work.
#pragma once

#include "core/plan/share.hpp"
#include "core/run/records.hpp"

#include <span>
#include <vector>

namespace troupe {

// Of the units in these shares that have not finished: those of lost resources, those that read
// what such units were to make, and transfers that hand their chunks to a lost link. Sorted.
// `is_lost`: by ResourceId. The shares must exist.
std::vector<UnitId> lost_units(std::span<const SentShare> sent, const std::vector<bool>& is_lost);

}  // namespace troupe
