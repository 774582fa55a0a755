// Random graphs on random machines of several nodes, some of which may be lost.
#pragma once

#include "actors/runner.hpp"
#include "core/machine/node_joiner.hpp"
#include "tests/support/random_case.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

// A random graph on a random machine of two to five nodes, and a scenario of it.
struct NodeCase {
  explicit NodeCase(std::uint64_t seed) : random(seed) {
    machine.name = "random nodes";
    NodeJoiner joiner(machine);
    const std::size_t count = 2 + random.below(4);
    for (std::size_t n = 0; n < count; ++n) {
      const Machine& node = nodes.emplace_back(random_machine(random));
      joiner.add_node("n" + std::to_string(n), node, default_network_memory(node));
    }
    joiner.add_network({.bandwidth = 1e9,
                        .latency = std::chrono::microseconds(20),
                        .chunk_bytes = std::uint64_t{1} << 12});
    graph = random_graph(random, machine, {.ops_max = 120});
    scenario = random_scenario(random, graph);
  }

  // Of up to all nodes but one.
  std::vector<NodeLoss> random_losses(Duration until) {
    std::vector<NodeId> left;
    for (std::size_t n = 0; n < machine.nodes.size(); ++n) left.push_back(NodeId::at(n));
    std::vector<NodeLoss> losses;
    for (std::size_t count = 1 + random.below(left.size() - 1); count > 0; --count) {
      const auto lost = left.begin() + static_cast<std::ptrdiff_t>(random.below(left.size()));
      losses.push_back({*lost, Duration{static_cast<Duration::rep>(
                                   random.unit() * static_cast<double>(until.count()))}});
      left.erase(lost);
    }
    sort_by_time(losses);
    return losses;
  }
  static void sort_by_time(std::vector<NodeLoss>& losses) {
    std::sort(losses.begin(), losses.end(),
              [](const NodeLoss& a, const NodeLoss& b) { return a.after < b.after; });
  }

  Report perform(RunOptions options) const {
    const std::vector<Scenario> scenarios{scenario};
    return Run(machine, graph, scenarios, std::move(options)).perform();
  }

  Random random;
  std::vector<Machine> nodes;  // by NodeId
  Machine machine;             // all of them
  Graph graph;
  Scenario scenario;
};

}  // namespace troupe::testing
