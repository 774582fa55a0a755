// Random graphs, machines and scenarios; the same seed gives the same case on any machine.
#pragma once

#include "core/base/random.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"

#include <cstdint>

namespace troupe::testing {

// 1 to 4 CPU devices of 1 to 3 streams, with memories of their own, shared ones, or both; up to two
// memories without a device; every memory reachable from every other over links of either sharing,
// most of them in one or two hops.
Machine random_machine(Random& random);

struct GraphLimits {
  std::size_t ops_max = 60;
  bool small = false;  // tensors of a few elements
};

// Ops of every kind that computes, in groups of one to four; some, all or none of them placed.
Graph random_graph(Random& random, const Machine& machine, const GraphLimits& limits = {});

// The groups in order, some of the first ones left out to be prepared and some of the last ones
// altogether; waits between some; shuffled where there is no wait.
Scenario random_scenario(Random& random, const Graph& graph);

struct RandomCase {
  explicit RandomCase(std::uint64_t seed, const GraphLimits& limits = {});

  Random random;
  Machine machine;
  Graph graph;
  Scenario scenario;
};

}  // namespace troupe::testing
