// Sessions on machines with several nodes.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/temporary_directory.hpp"

#include <chrono>
#include <filesystem>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe;
using namespace std::chrono_literals;
using testing::expect_error;

BOOST_AUTO_TEST_SUITE(nodes)
namespace {

struct ThreeNodes {
  testing::TemporaryDirectory directory;
  std::filesystem::path file = directory.path() / "three.yaml";

  ThreeNodes() {
    directory.write("three.yaml", R"(
nodes:
  n:
    count: 3
    devices: {cpu: {kind: cpu, memory: host, flops: 1 GFLOP/s, bandwidth: 1 TB/s}}
    memories: {host: {size: 1 GiB}}
network: {bandwidth: 1 GB/s, latency: 20 us, chunk: 100 kB}
)");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_copy_between_nodes_takes_the_latency_and_the_time_of_its_bytes,
                        ThreeNodes) {
  Session s(file, {.mode = Mode::simulate});
  const DeviceScope on = s.on("n0.cpu");
  const Tensor x = s.zeros({250'000});  // 1 MB
  const ScenarioReport& report = s.measure("copy", [&] { x.to("n1.host"); });
  // And the time in which the switch receives the first chunk.
  BOOST_TEST(report.makespan.count() == (20us + 1ms + 100us).count() * 1000);
}

BOOST_FIXTURE_TEST_CASE(a_switch_keeps_nothing_for_the_next_copy, ThreeNodes) {
  Session s(file, {.mode = Mode::simulate});
  const DeviceScope on = s.on("n0.cpu");
  const Tensor x = s.zeros({250'000});
  const auto copies = [&] {
    x.to("n1.host");
    x.to("n2.host");
  };
  for (const char* name : {"once", "again"}) {
    const ScenarioReport& report = s.measure(name, copies);
    BOOST_TEST(report.transfers == 4U);
    // Both wait for the link of the sender, which takes their chunks in turn.
    BOOST_TEST((report.makespan >= 2ms && report.makespan < 2.2ms));
  }
}

BOOST_FIXTURE_TEST_CASE(values_cross_the_switch_unchanged, ThreeNodes) {
  Session s(file, {.mode = Mode::rehearse});
  std::vector<float> values;
  for (int i = 0; i < 100'000; ++i) values.push_back(static_cast<float>(i));
  const DeviceScope on = s.on("n0.cpu");
  const Tensor x = s.tensor(values, {100'000});
  const Tensor there = x.to("n1.cpu");
  BOOST_TEST((there + there).to("n0.host").read<float>()[70'000] == 140'000.0F);
  BOOST_TEST(there.read<float>() == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(tensors_pass_through_a_switch_of_one_node_chunk_by_chunk) {
  const testing::TemporaryDirectory directory;
  directory.write("switch.yaml", R"(
devices: {a: {kind: cpu, memory: ma, flops: 1 GFLOP/s}, b: {kind: cpu, memory: mb}}
memories: {ma: {size: 1 GiB}, mb: {size: 1 GiB}, middle: {kind: switch}}
links:
  la: {between: [ma, middle], bandwidth: 1 GB/s, chunk: 100 kB}
  lb: {between: [mb, middle], bandwidth: 1 GB/s, chunk: 100 kB}
)");
  const std::filesystem::path file = directory.path() / "switch.yaml";
  Session s(file, {.mode = Mode::rehearse});
  const DeviceScope on = s.on("a");
  const Tensor x = s.uniform({250'000});  // 1 MB
  const ScenarioReport& report = s.measure("copy", [&] { x.to("mb"); });
  BOOST_TEST(report.makespan.count() == (1ms + 100us).count() * 1000);
  BOOST_TEST(x.to("mb").read<float>() == x.read<float>(), boost::test_tools::per_element());
  expect_error(ErrorKind::usage, "no memory 'middle'", [&] { x.to("middle"); });
  expect_error(ErrorKind::usage, "middle is a switch, which only a simulation knows",
               [&] { Session{file}; });
}

BOOST_FIXTURE_TEST_CASE(a_switch_holds_no_tensors_of_the_user, ThreeNodes) {
  Session s(file, {.mode = Mode::simulate});
  const Tensor x = s.zeros({2});
  expect_error(ErrorKind::usage, "no memory 'network'", [&] { x.to("network"); });
}

BOOST_FIXTURE_TEST_CASE(nodes_that_nobody_names_are_simulated_only, ThreeNodes) {
  const int line = __LINE__ + 3;
  expect_error(ErrorKind::usage,
               fmt::format("nodes_test.cpp:{}: 'three' has 3 nodes, and the session none", line),
               [&] { const Session s(file); });
}

BOOST_AUTO_TEST_SUITE_END()
