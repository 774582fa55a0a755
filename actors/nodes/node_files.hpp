// Files of tensors, which the nodes read by themselves.
#pragma once

#include "actors/nodes/node_protocol.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"

#include <span>
#include <vector>

namespace troupe {

// What each node loads, by NodeId.
std::vector<FilesRequest> files_of_nodes(const Graph& graph, const Machine& machine,
                                         std::span<const Plan> plans);

// Opens each file and reads its header. Blocks. Throws a usage Error that names the file if it
// isn't there, or isn't the one that the leader has.
void check_files(const FilesRequest& request);

}  // namespace troupe
