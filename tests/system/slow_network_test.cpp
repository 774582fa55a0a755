// Runs on three hosts whose network is slow and loses frames, and whose cables are cut and mended.
#include "tests/support/slow_network.hpp"

#include "tests/support/certificates.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
using nlohmann::json;

BOOST_AUTO_TEST_SUITE(slow_network, *boost::unit_test::precondition(can_make_slow_network))
namespace {

constexpr std::size_t hosts = 3;
constexpr std::uint64_t seed = 30;
// 5 ms, 1 % and 100 Mbit/s.
constexpr CableQuality slow{.latency_s = 5e-3, .loss = 0.01, .bytes_per_second = 12.5e6};

// Some 10 tensors of 10 kB go from each host to the next one, and two of 400 kB.
const std::string round =
    "machine: {discover: {}}\n"
    "tensors:\n"
    "  x: {op: uniform, shape: [50, 50], on: n0.cpu0}\n"
    "  large: {op: uniform, shape: [300, 300], on: n0.cpu0}\n"
    "tasks:\n"
    "  a: {op: scale, in: [x], alpha: 2, repeat: 10, on: n0.cpu0}\n"
    "  b: {op: add, in: [a, x], on: n1.cpu0}\n"
    "  c: {op: mul, in: [b, a], on: n2.cpu0}\n"
    "  d: {op: sub, in: [c, x], on: n0.cpu0}\n"
    "  e: {op: matmul, in: [large, large], on: n1.cpu0}\n"
    "  f: {op: add, in: [e, large], on: n2.cpu0}\n";

// More than a second of work, of which each host needs the part of the one before it.
const std::string long_run =
    "machine: {discover: {}}\n"
    "tensors: {x: {op: uniform, shape: [50, 50], on: n0.cpu0}}\n"
    "tasks:\n"
    "  a: {op: sleep, in: [x], duration: 50 ms, repeat: 120, on: n0.cpu0}\n"
    "  b: {op: sleep, in: [a], duration: 1 ms, on: n1.cpu0}\n"
    "  c: {op: sleep, in: [b, x], duration: 1 ms, on: n2.cpu0}\n"
    "  d: {op: sleep, in: [c], duration: 1 ms, on: n0.cpu0}\n";

// A node on each host, and leaders on the first.
class Cluster : public RunWorkspace {
 public:
  explicit Cluster(const std::string& text, const std::vector<std::string>& of_nodes,
                   std::vector<std::string> of_leader = {})
      : of_leader_(std::move(of_leader)) {
    write("run.yaml", text);
    for (std::size_t h = 0; h < hosts; ++h) {
      nodes_.push_back(std::make_unique<NodeProcess>(*this, network.on(h),
                                                     SlowNetwork::address(h) + ":0", of_nodes));
    }
  }

  std::vector<std::string> leader() const {
    std::string addresses;
    for (const auto& node : nodes_) addresses += (addresses.empty() ? "" : ",") + node->address();
    std::vector<std::string> words = network.on(0);
    for (const auto& more : {troupe_command({"run", "run.yaml", "--verbose", "--json",
                                             "report.json", "--nodes", addresses}),
                             of_leader_}) {
      words.insert(words.end(), more.begin(), more.end());
    }
    return words;
  }
  // Returns what the node of this host has said to standard error.
  std::string end_node(std::size_t host) { return nodes_[host]->end(); }
  void check_done(const Finished& finished) const {
    BOOST_TEST_INFO(finished.err);
    BOOST_REQUIRE(finished.exit_code == 0);
    const json scenario = report()["scenarios"][0];
    BOOST_TEST(scenario["outcome"] == "done");
    BOOST_TEST(scenario["verified"] == true);
  }
  std::string notes() const { return report()["notes"].dump(); }

  SlowNetwork network{hosts, slow, seed};

 private:
  const std::vector<std::string> of_leader_;
  std::vector<std::unique_ptr<NodeProcess>> nodes_;
};

void pause(std::chrono::milliseconds time) {
  std::this_thread::sleep_for(time);
}

const std::vector<std::string> trusting = {"--trust-network"};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_slow_network_that_loses_frames_changes_no_result) {
  const Certificates certificates;
  for (const bool uses_tls : {false, true}) {
    BOOST_TEST_CONTEXT("seed " << seed << ", TLS: " << uses_tls) {
      const std::vector<std::string> tls = certificates.options();
      const Cluster cluster(round, uses_tls ? tls : trusting,
                            uses_tls ? tls : std::vector<std::string>());
      cluster.check_done(Program(cluster.leader(), options_in(cluster)).wait());
      BOOST_TEST(!contains(cluster.notes(), "lost"));
      BOOST_TEST(cluster.network.lost_frames() > 0U);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cable_that_is_mended_before_the_node_timeout_loses_no_node) {
  const std::vector<std::string> patient = {"--node-timeout", "20"};
  Cluster cluster(long_run, with(trusting, patient), patient);
  Program run(cluster.leader(), options_in(cluster));
  wait_until_under_way(run);
  cluster.network.cut_cable(2);
  pause(std::chrono::milliseconds(500));
  cluster.network.mend_cable(2);
  cluster.check_done(run.wait());
  BOOST_TEST(!contains(cluster.notes(), "lost"), cluster.notes());
}

// The node that was cut off comes back during the run, and then serves the next one.
BOOST_AUTO_TEST_CASE(a_node_that_comes_back_too_late_is_left_alone_until_the_next_run) {
  const std::vector<std::string> impatient = {"--node-timeout", "3"};
  Cluster cluster(long_run, with(trusting, impatient), impatient);
  Program run(cluster.leader(), options_in(cluster));
  wait_until_under_way(run);
  cluster.network.cut_cable(2);
  pause(std::chrono::seconds(5));
  cluster.network.mend_cable(2);
  cluster.check_done(run.wait());
  BOOST_TEST(contains(cluster.notes(), "n2 was lost"), cluster.notes());
  cluster.write("run.yaml", round);
  Finished next;
  for (int i = 0; i < 100; ++i) {  // it takes a moment until the node knows
    next = Program(cluster.leader(), options_in(cluster)).wait();
    if (!contains(next.err, "works for another leader")) break;
  }
  cluster.check_done(next);
  BOOST_TEST(!contains(cluster.notes(), "lost"), cluster.notes());
  BOOST_TEST(contains(cluster.end_node(2), "lost the leader"));
}

BOOST_AUTO_TEST_SUITE_END()
