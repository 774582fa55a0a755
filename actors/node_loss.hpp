// Losses of nodes in a simulation.
#pragma once

#include "core/base/id.hpp"
#include "core/base/time.hpp"

namespace troupe {

// A simulated node stops working so long after the clock of its scenario has started.
struct NodeLoss {
  NodeId node;
  Duration after{0};
};

}  // namespace troupe
