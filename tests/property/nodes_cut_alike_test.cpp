// What nodes are told of how kernels cut their work.
#include "actors/runner.hpp"
#include "core/result/checkpoint.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/virtual_nodes.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(nodes_cut_alike)
namespace {

using namespace testing;

struct Widths {
  std::mutex mutex;
  std::set<std::int64_t> seen;
};
Widths widths;

// An op kind that keeps for how many threads it was to be cut.
const OpRegistry& with_width() {
  static const OpRegistry registry = [] {
    OpRegistry ops = test_ops();
    OpKind kind = ops[ops.find("work")];
    kind.name = "width";
    kind.cpu = [](const CpuCall& call) {
      const std::lock_guard lock(widths.mutex);
      widths.seen.insert(call.team.widest_team());
      std::memset(call.output.data, 0, call.output.type.bytes());
    };
    ops.add(std::move(kind));
    return ops;
  }();
  return registry;
}

Machine node_with(std::vector<int> cores) {
  return {.name = "node",
          .devices = {{.name = "cpu",
                       .memory = MemoryId{0},
                       .flops = 1e9,
                       .bandwidth = 1e9,
                       .cores = std::move(cores)}},
          .memories = {{.name = "host", .size_bytes = 1 << 20}},
          .links = {}};
}

// Of nodes of one core and of three, and of the leader, which compares.
std::set<std::int64_t> widths_of_nodes(const Checkpoint* resumed) {
  const std::vector<Machine> machines{node_with({0}), node_with({0, 0, 0})};
  VirtualNodes nodes(1, machines, with_width(), {.nodes = machines.size()},
                     std::chrono::milliseconds(5));
  Cluster cluster(with_width(), nodes.options());
  SmallGraph g;
  g.graph = Graph(with_width());
  for (const DeviceId device : {DeviceId{0}, DeviceId{1}}) {
    g.op("on " + std::to_string(device.value), "width", {}, on(device), {{"flops", 1.0}},
         of_bytes(8));
  }
  widths.seen.clear();
  const std::vector<Scenario> scenarios{g.everything()};
  const Report report = Run(cluster.machine(), g.graph, scenarios,
                            {.mode = Mode::rehearse, .cluster = &cluster, .resumed = resumed})
                            .perform();
  BOOST_TEST((report.scenarios[0].verified == true), report.scenarios[0].error);
  return widths.seen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(nodes_cut_for_the_widest_team_of_all) {
  BOOST_TEST((widths_of_nodes(nullptr) == std::set<std::int64_t>{3}));
}

BOOST_AUTO_TEST_CASE(nodes_of_a_resumed_run_cut_as_the_run_that_it_goes_on_with) {
  const Checkpoint checkpoint{.position = {}, .tensors = {}, .widest_team = 7};
  BOOST_TEST((widths_of_nodes(&checkpoint) == std::set<std::int64_t>{7}));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
