// The option --lose: nodes that a simulation loses.
#pragma once

#include "actors/execution.hpp"
#include "core/machine/machine.hpp"

#include <string>
#include <vector>

namespace troupe {

// Each text is like "n1@500ms". Sorted by time. Throws a usage Error if one isn't like that, or the
// machine has no such node, or one is lost twice.
std::vector<NodeLoss> parse_losses(const std::vector<std::string>& texts, const Machine& machine);

}  // namespace troupe
