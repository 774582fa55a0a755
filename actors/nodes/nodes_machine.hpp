// The machine that the nodes of a run make together.
#pragma once

#include "actors/nodes/connect_nodes.hpp"
#include "core/backend/cuda/gpu_of_device.hpp"
#include "core/machine/machine.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe {

// Throws a usage Error unless tensors go between all of them in the same way.
void check_alike(std::span<const ConnectedNode> nodes, bool uses_shared_memory);

// Those without a name get one. Throws a usage Error if two have the same.
void name_nodes(std::span<ConnectedNode> nodes);

// What they have, joined by a network. They have names.
Machine join_machines(std::span<const ConnectedNode> nodes);

// Those that have answered why they have no GPUs, a line for each reason: "node n1 (…): it lends no
// GPUs". `answers`: by node.
std::vector<std::string> name_those_without_gpus(std::span<const ConnectedNode> nodes,
                                                 std::span<const MachineIs> answers);

// The machine of a run as node `self` is to have it, which `has` this: where devices of it own the
// cores that `joined` says, they get its own, since it may have taken the place of another one.
Machine with_own_cores(Machine machine, NodeId self, const Machine& joined, const Machine& has);

// The machine of a run with the cores that its CPU devices may have: where it doesn't say, all that
// their nodes have by `joined`.
Machine with_all_cores(Machine machine, const Machine& joined);

// Throws a run Error unless these GPUs are of devices of the node.
void check_own(std::span<const GpuOfDevice> gpus, const Machine& machine, NodeId node);

// Throws a run Error unless a node that has this can take the place of one that had that. Of a
// machine that is planned for: unless its GPUs have as much memory free as is planned for.
void check_fit(const Machine& has, const Machine& lost);
void check_fit(std::span<const GpuOfDevice> gpus, const Machine& machine);

}  // namespace troupe
