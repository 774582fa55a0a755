// How a session gets its machine and its nodes: from its options, or from the environment.
#pragma once

#include "actors/session.hpp"
#include "actors/session/session_core.hpp"
#include "core/machine/machine.hpp"

#include <optional>

namespace troupe {

// Without a machine: this one, or that of the nodes. Throws an Error at `where`: a usage Error if
// options contradict each other or the machine, another if a node can't be reached. Blocks while
// nodes are connected.
SessionCore* open_session(std::optional<Machine> machine, const SessionOptions& options,
                          CallSite where);

}  // namespace troupe
