// A digest of what a run is to make: equal for two runs whose results are equal.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/saved_file.hpp"
#include "core/graph/scenario.hpp"

#include <span>
#include <string>

namespace troupe {

// In hexadecimal digits. Depends on the ops with their attributes and inputs, on the scenarios and
// on the files to be saved, by their paths; not on the machine or on placements. No op may be
// forgotten. Of values in files, the paths count, the sizes and the times of the last write; of op
// kinds, the names.
std::string run_digest(const Graph& graph, std::span<const Scenario> scenarios,
                       std::span<const SavedFile> saves);

}  // namespace troupe
