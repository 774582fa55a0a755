// Random graphs, machines and scenarios. A seed gives the same case on every machine.
#pragma once

#include "core/base/random.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"

#include <cstdint>

namespace troupe::testing {

// 1 to 4 CPU devices of 1 to 3 streams, with private or shared memories, and up to two memories
// without a device. Every memory is reachable from every other, mostly over one or two links. Links
// are FIFO or fair.
Machine random_machine(Random& random);

struct GraphLimits {
  std::size_t ops_max = 60;
  bool small = false;  // tensors of a few elements
  // For devices whose results are only near those of others: values are positive, so that nothing
  // is cancelled, and ops that depend on every bit of their inputs get none that a product made.
  bool may_round = false;
  DeviceId half_on = {};  // where ops of kind "half" run; none: anywhere
};

// Ops of every kind that computes, one of several outputs among them, in groups of one to four.
// Some, all or none have a placement.
Graph random_graph(Random& random, const Machine& machine, const GraphLimits& limits = {});

// The groups in order, with waits between some of them, and shuffled between waits. Some of the
// first groups are left out, so that they are prepared before the clock starts, and some of the
// last.
Scenario random_scenario(Random& random, const Graph& graph);

struct RandomCase {
  explicit RandomCase(std::uint64_t seed, const GraphLimits& limits = {});

  Random random;
  Machine machine;
  Graph graph;
  Scenario scenario;
};

}  // namespace troupe::testing
