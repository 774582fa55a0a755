// The node of one rank of a run that srun or mpirun has started.
#pragma once

#include "apps/troupe/commands.hpp"
#include "apps/troupe/launch/launch.hpp"
#include "apps/troupe/local_nodes.hpp"

namespace troupe {

// How long the ranks of a run wait until all have come.
Duration patience_with_ranks(const RunArguments& arguments);

// Starts a node process here, with the rank's part of this host, where the other ranks reach it.
// This process, too, keeps to that part of the cores. Throws an Error if that can't be done, and a
// usage Error if the ranks are on several hosts and nothing says that their network is safe.
LocalNodes start_launched_node(const Launch& launch, const RunArguments& arguments);

// Waits until the node has ended, which it does with the run. Signals are left to rank 0. Returns
// the exit code of this rank.
int serve_launched_node(LocalNodes& node);

}  // namespace troupe
