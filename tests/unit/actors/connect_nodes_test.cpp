// Leaders that ask for nodes: two at the same time, and those that don't suit the nodes.
#include "actors/nodes/cluster.hpp"
#include "actors/nodes/control_connection.hpp"
#include "actors/nodes/control_system.hpp"
#include "actors/nodes/node_question.hpp"
#include "actors/nodes/node_server.hpp"
#include "actors/nodes/nodes_machine.hpp"
#include "core/network/introduction.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "tests/support/expect_error.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

BOOST_AUTO_TEST_SUITE(connecting_to_nodes)
namespace {

using namespace troupe;
using namespace troupe::testing;

struct TwoNodes {
  NodeServer a{pattern_ops(), {}};
  NodeServer b{pattern_ops(), {}};
};

std::string address(const NodeServer& node) {
  return fmt::format("127.0.0.1:{}", node.port());
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_two_leaders_at_once_one_gets_all_nodes) {
  for (int round = 0; round < 10; ++round) {
    const TwoNodes nodes;
    std::barrier together(2);
    std::atomic<int> winners = 0;
    const auto lead = [&](const NodeServer& first, const NodeServer& second) {
      std::optional<Cluster> cluster;
      together.arrive_and_wait();
      try {
        cluster.emplace(pattern_ops(),
                        ClusterOptions{.addresses = {address(first), address(second)}});
        ++winners;
      } catch (const Error& error) {
        const std::string_view said = error.what();
        BOOST_TEST(said.find("another session of this program has it") != std::string_view::npos,
                   said);
      }
      together.arrive_and_wait();
    };
    std::jthread other([&] { lead(nodes.b, nodes.a); });
    lead(nodes.a, nodes.b);
    other.join();
    BOOST_TEST(winners == 1);
  }
}

BOOST_AUTO_TEST_CASE(devices_without_cores_may_have_all_of_their_nodes_and_others_keep_their_own) {
  Machine joined;
  joined.nodes = {"n0", "n1"};
  joined.devices = {{.name = "n0.cpu0", .cores = {2, 0}, .node = NodeId{0}},
                    {.name = "n0.cpu1", .cores = {3, 0}, .node = NodeId{0}},
                    {.name = "n1.cpu0", .cores = {4, 5, 6, 7}, .node = NodeId{1}}};
  Machine wanted;
  wanted.nodes = {"left", "right"};
  wanted.devices = {{.name = "a", .node = NodeId{0}},
                    {.name = "g", .kind = DeviceKind::gpu, .node = NodeId{0}},
                    {.name = "b", .node = NodeId{1}},
                    {.name = "c", .cores = {5}, .node = NodeId{1}}};
  const Machine all = with_all_cores(wanted, joined);
  BOOST_TEST((all.devices[0].cores == std::vector{0, 2, 3}));
  BOOST_TEST(all.devices[1].cores.empty());
  BOOST_TEST((all.devices[2].cores == std::vector{4, 5, 6, 7}));
  BOOST_TEST((all.devices[3].cores == std::vector{5}));
  for (Device& device : joined.devices) device.cores.clear();  // as those of a rehearsal are
  BOOST_TEST(with_all_cores(wanted, joined).devices[0].cores.empty());
}

BOOST_FIXTURE_TEST_CASE(nodes_with_other_ops_are_refused_with_what_differs, TwoNodes) {
  OpRegistry ops = pattern_ops();
  OpKind kind = ops[ops.find("add")];
  kind.name = "mine";
  ops.add(kind);
  const ClusterOptions options{.addresses = {address(a), address(b)}};
  expect_error(ErrorKind::usage,
               fmt::format("node {}: its op kinds are others: 'mine' it doesn't have; start the "
                           "node and the leader with --ops for the same libraries",
                           std::min(address(a), address(b))),
               [&] { Cluster(ops, options); });
}

BOOST_FIXTURE_TEST_CASE(an_op_of_another_signature_under_the_same_name_is_refused, TwoNodes) {
  const OpRegistry& same = pattern_ops();
  OpRegistry ops;
  for (const std::string_view name : same.names()) {
    OpKind kind = same[same.find(name)];
    if (name == "add") kind.attrs = {{.name = "factor", .fallback = 1.0}};
    ops.add(kind);
  }
  expect_error(ErrorKind::usage,
               fmt::format("node {}: its op kinds are others: 'add' has (in: 2) there and (in: 2, "
                           "factor: a number) here; start the node and the leader with --ops",
                           address(a)),
               [&] { Cluster(ops, {.addresses = {address(a)}}); });
}

// One that is refused may go on talking.
BOOST_FIXTURE_TEST_CASE(a_node_does_what_its_leader_says_and_nobody_else, TwoNodes) {
  Cluster cluster(pattern_ops(), {.addresses = {address(a), address(b)}});
  constexpr Duration patience = std::chrono::seconds(10);
  ControlSystem other(patience);
  caf::actor_system& system = other.system();
  const caf::actor agent = remote_actor(
      system,
      open_connection({"127.0.0.1", a.port()}, Purpose::control, nullptr, patience, nullptr),
      patience);
  BOOST_REQUIRE(agent);
  const caf::scoped_actor self(system);
  self->send(agent, Disconnect{"a node was lost"});
  self->send(agent, EndRun{});
  expect_error(ErrorKind::failed, "works for another leader", [&] {
    NodeQuestion(system, agent, Reconnect{.epoch = 1}, nullptr).answer<Reconnected>(patience);
  });
  expect_error(ErrorKind::failed, "works for another leader", [&] {
    NodeQuestion(system, agent, BeginRun{}, nullptr).answer<Prepared>(patience);
  });
  cluster.check(cluster.machine());
}

BOOST_FIXTURE_TEST_CASE(a_program_is_not_told_to_start_with_ops, TwoNodes) {
  OpRegistry ops = builtin_ops();
  OpKind kind = ops[ops.find("add")];
  kind.name = "mine";
  ops.add(kind);
  expect_error(ErrorKind::usage,
               fmt::format("node {}: its op kinds are others: 'mine' it doesn't have; start the "
                           "node, or `troupe launch`, with --ops for the libraries that have them",
                           address(a)),
               [&] { Cluster(ops, {.addresses = {address(a)}, .allows_other_kinds = true}); });
}

BOOST_AUTO_TEST_CASE(nodes_that_see_no_processes_of_each_other_share_no_memory) {
  std::vector<ConnectedNode> nodes(2);
  for (ConnectedNode& node : nodes) node.has.host = node.has.pids = "same";
  check_alike(nodes, true);
  nodes[1].has.pids = "other";
  check_alike(nodes, false);
  expect_error(ErrorKind::usage, "are in containers of their own",
               [&] { check_alike(nodes, true); });
}

BOOST_AUTO_TEST_CASE(a_node_on_loopback_is_refused_beside_one_on_another_host) {
  std::vector<ConnectedNode> nodes(3);
  nodes[1].address = "localhost:7420";
  nodes[1].has.address = "troupe-wire-2 tcp 0123456789abcdef 127.0.0.1:7420 0123456789abcdef";
  check_alike(nodes, false);
  nodes[2].address = "10.98.0.2:7420";
  nodes[2].has.host = "other";
  nodes[2].has.address = "troupe-wire-2 tcp 0123456789abcdef 10.98.0.2:7420 0123456789abcdef";
  expect_error(ErrorKind::usage,
               "node localhost:7420 listens on loopback, where node 10.98.0.2:7420, on another "
               "host, can't reach it; start it with --listen",
               [&] { check_alike(nodes, false); });
  nodes[1].has.address = "troupe-wire-2 tcp 0123456789abcdef 10.98.0.1:7420 0123456789abcdef";
  check_alike(nodes, false);
}

BOOST_FIXTURE_TEST_CASE(a_node_that_is_given_by_two_addresses_is_refused, TwoNodes) {
  const std::string other_name = fmt::format("localhost:{}", a.port());
  const ClusterOptions options{.addresses = {other_name, address(a)}};
  expect_error(ErrorKind::usage,
               fmt::format("node {}: another of the addresses is that of the same node; name each "
                           "node once",
                           other_name),
               [&] { Cluster(pattern_ops(), options); });
}

BOOST_AUTO_TEST_SUITE_END()
