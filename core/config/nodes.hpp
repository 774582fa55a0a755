// Reads `nodes` and `network` of a machine file. The format is documented in
// docs/machine_files.md.
#pragma once

#include "core/config/document.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"

namespace troupe {

// The machine of a map that has `nodes`: the parts of all nodes, and what joins them.
Machine read_nodes(const Node& node, const OpRegistry& ops);

}  // namespace troupe
