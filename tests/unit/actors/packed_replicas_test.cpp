#include "actors/nodes/packed_replicas.hpp"

#include "tests/support/expect_error.hpp"
#include "tests/support/node_message.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(packed_replicas)
namespace {

using testing::cut;
using testing::expect_error;
using testing::plan_by_rates;
using testing::read;
using testing::received;
using testing::SmallGraph;
using testing::written;

// A CPU and its memory on each of two nodes, and a switch between them.
Machine two_nodes() {
  Machine machine = testing::two_devices();
  machine.nodes = {"n0", "n1"};
  machine.memories.push_back({.name = "switch", .kind = MemoryKind::network});
  for (std::uint32_t n : {0U, 1U}) machine.memories[n].node = NodeId{n};
  return machine;
}

BOOST_AUTO_TEST_CASE(a_node_gets_its_replicas_and_those_of_others_are_elsewhere) {
  const Machine machine = two_nodes();
  const MemoryId elsewhere{2};
  SmallGraph g;
  const DeviceId dev0{0};
  const DeviceId dev1{1};
  const OpId x = g.work("x", 10, {}, testing::on(dev0), 8);
  const OpId y = g.work("y", 10, {x}, testing::on(dev1), 16);
  g.work("z", 10, {x, y}, testing::on(dev0), 24);
  Plan plan = plan_by_rates(g.graph, machine, g.everything(), {.compare_results = true});
  std::vector<ReplicaSpec> all(plan.replicas.begin(), plan.replicas.end());
  all[0].is_adopted = all[1].is_private = true;
  std::vector<std::uint64_t> at_once(g.graph.types().size());
  std::iota(at_once.begin(), at_once.end(), 10);
  for (const NodeId node : {NodeId{0}, NodeId{1}, NodeId{5}}) {
    const auto packed = received(PackedReplicas(all, g.graph.types(), at_once, machine, node));
    const std::vector<TensorType> types = packed.types();
    const std::vector<ReplicaSpec> replicas = packed.unpack(elsewhere, machine);
    BOOST_TEST_REQUIRE(replicas.size() == all.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
      const bool is_here = machine.memory(all[r].memory).node == node;
      const ReplicaSpec& spec = replicas[r];
      BOOST_TEST((spec.memory == (is_here ? all[r].memory : elsewhere)));
      BOOST_TEST(spec.readers == (is_here ? all[r].readers : 0));
      BOOST_TEST(spec.leaves_digest == (is_here && all[r].leaves_digest));
      BOOST_TEST(spec.is_private == (is_here && all[r].is_private));
      BOOST_TEST(spec.is_adopted == (is_here && all[r].is_adopted));
      BOOST_TEST((types[spec.type] == (is_here ? g.graph.types()[all[r].type] : TensorType{})));
      BOOST_TEST(packed.at_once()[spec.type] == (is_here ? at_once[all[r].type] : 0));
    }
    BOOST_TEST(types.size() <= 1 + g.graph.types().size());
  }
}

BOOST_AUTO_TEST_CASE(replicas_with_wrong_bytes_are_refused) {
  const Machine machine = two_nodes();
  const std::vector<TensorType> types = {{DType::f64, {3}}};
  const MemoryId elsewhere{2};
  const std::vector<ReplicaSpec> all = {
      {.memory = MemoryId{0}}, {.memory = MemoryId{1}}, {.memory = MemoryId{0}}};
  const std::vector<std::uint64_t> at_once = {1};
  const std::vector<char> whole = written(PackedReplicas(all, types, at_once, machine, NodeId{0}));
  for (std::size_t size = 0; size + 8 < whole.size(); ++size) {
    PackedReplicas packed;
    BOOST_TEST_REQUIRE(read(cut(whole, size), packed));
    expect_error(ErrorKind::failed, "damaged", [&] { packed.unpack(elsewhere, machine); });
  }
  PackedReplicas packed;
  BOOST_TEST_REQUIRE(read(whole, packed));
  Machine smaller = machine;
  smaller.memories.clear();
  expect_error(ErrorKind::failed, "damaged", [&] { packed.unpack(elsewhere, smaller); });
}

BOOST_AUTO_TEST_CASE(an_empty_message_of_replicas_is_refused) {
  expect_error(ErrorKind::failed, "damaged", [&] { received(PackedReplicas()).types(); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
