// Transfers between nodes: a link that joins a node to a switch sends tensors to other nodes, and
// moves those that come to their buffers.
#pragma once

#include "core/backend/backend.hpp"

namespace troupe {

LinkBackendEntry network_link_backend();

}  // namespace troupe
