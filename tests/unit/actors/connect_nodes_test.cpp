// Leaders that ask for nodes: two at the same time, and those that don't suit the nodes.
#include "actors/nodes/cluster.hpp"
#include "actors/nodes/control_connection.hpp"
#include "actors/nodes/control_system.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "actors/nodes/node_question.hpp"
#include "actors/nodes/node_server.hpp"
#include "core/base/version.hpp"
#include "core/network/introduction.hpp"
#include "core/patterns/point_task.hpp"
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
using namespace std::chrono_literals;

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
        BOOST_TEST(said.find("it works for another leader") != std::string_view::npos, said);
      }
      together.arrive_and_wait();
    };
    std::jthread other([&] { lead(nodes.b, nodes.a); });
    lead(nodes.a, nodes.b);
    other.join();
    BOOST_TEST(winners == 1);
  }
}

BOOST_FIXTURE_TEST_CASE(nodes_with_other_ops_are_refused_with_what_differs, TwoNodes) {
  OpRegistry ops = pattern_ops();
  OpKind kind = ops[ops.find("add")];
  kind.name = "mine";
  ops.add(kind);
  const ClusterOptions options{.addresses = {address(a), address(b)}};
  expect_error(ErrorKind::usage,
               fmt::format("node {}: its op kinds are others: 'mine' it doesn't have; start node "
                           "and leader with the same --ops",
                           std::min(address(a), address(b))),
               [&] { Cluster(ops, options); });
}

BOOST_FIXTURE_TEST_CASE(a_leader_of_another_version_is_refused_with_both_versions, TwoNodes) {
  ControlSystem control(3s);
  const caf::actor agent = remote_actor(
      control.system(),
      open_connection({"127.0.0.1", a.port()}, Purpose::control, nullptr, 10s, nullptr), 10s);
  BOOST_REQUIRE(agent);
  NodeQuestion question(control.system(), agent,
                        Hello{.version = "0.0.7", .kinds = {}, .leader = {}}, nullptr);
  expect_error(ErrorKind::usage,
               fmt::format("it is of version {}, and this is 0.0.7; install the same", version),
               [&] { question.answer<Welcome>(10s); });
}

BOOST_AUTO_TEST_SUITE_END()
