// Nodes that a run can't get: they are named together, and waited for at the same time.
#include "core/base/version.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/run_workspace.hpp"
#include "tests/support/silent_host.hpp"
#include "tests/support/strangers.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace troupe::testing;
using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(connecting)
namespace {

struct Files : RunWorkspace {
  Files() {
    write("run.yaml", "machine: {discover: {}}\ntasks: {x: {op: uniform, shape: [4, 4]}}\n");
  }
};

std::vector<std::string> run_on(const std::vector<std::string>& nodes, const std::string& timeout) {
  return {
      "run",  "run.yaml", "--nodes", fmt::format("{}", fmt::join(nodes, ",")), "--connect-timeout",
      timeout};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(all_nodes_that_can_not_be_reached_are_named_with_the_cause, Files) {
  const RunWorkspace elsewhere;
  const NodeProcess node(elsewhere);
  const SilentHost silent;
  check_refused(
      *this,
      run_on({"127.0.0.1:1", node.address(), silent.address(), "127.0.0.2:1", silent.address(2)},
             "5"),
      "4 of 5 nodes can't be reached: 127.0.0.1:1, 127.0.0.2:1 (it can't be reached: Connection",
      {fmt::format("{}, {} (it has not answered for 5 s)", silent.address(), silent.address(2)),
       "troupe node"});
}

BOOST_FIXTURE_TEST_CASE(many_silent_hosts_take_one_timeout, Files) {
  const SilentHost silent;
  constexpr int hosts = 100;
  std::vector<std::string> addresses;
  for (int i = 1; i <= hosts; ++i) addresses.push_back(silent.address(i));
  ProgramOptions options = options_in(*this);
  options.limit = std::chrono::seconds(hosts / 2);  // one after the other would take twice that
  const Finished finished = run_troupe(run_on(addresses, "1"), options);
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "100 of 100 nodes can't be reached"), finished.err);
  BOOST_TEST(contains(finished.err, silent.address(hosts)));
}

BOOST_FIXTURE_TEST_CASE(a_node_of_another_version_is_refused_with_both_versions, Files) {
  const SilentHost host;
  Program run(troupe_command(run_on({host.address()}, "10")), options_in(*this));
  BOOST_REQUIRE(run.wait_until([&] { return host.has_visitor(); }));
  host.say("troupe 0.0.7    ");
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, fmt::format("node {}: it is of version 0.0.7, and this is {}; ",
                                                host.address(), troupe::version)),
             finished.err);
  BOOST_TEST(contains(finished.err, "of the same version"));
}

BOOST_FIXTURE_TEST_CASE(what_is_no_node_is_refused, Files) {
  const std::string version(troupe::version);
  const std::string greeting = "troupe " + version + std::string(9 - version.size(), ' ');
  for (const std::string& words :
       {"HTTP/1.1 400 Bad Request\r\n\r\n"s, ""s, "troupe \x1b[2J         "s, "troupe "s + version,
        greeting + "and no more", greeting + message_header(0, 0),
        greeting + message_header(1, 0)}) {
    BOOST_TEST_CONTEXT(words) {
      const SilentHost host;
      Program run(troupe_command(run_on({host.address()}, "0.5")), options_in(*this));
      BOOST_REQUIRE(run.wait_until([&] { return host.has_visitor(); }));
      host.say(words);
      const Finished finished = run.wait();
      BOOST_TEST(finished.exit_code == 2);
      BOOST_TEST(contains(finished.err, "troupe: node " + host.address() + ": "), finished.err);
      BOOST_TEST(contains(finished.err, "`troupe node"), finished.err);
      BOOST_TEST(!contains(finished.err, "\x1b"));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(an_interrupt_while_connecting_is_no_failure_to_connect, Files) {
  const SilentHost silent;
  Program run(troupe_command(run_on({silent.address()}, "60")), options_in(*this));
  BOOST_REQUIRE(run.wait_until([&] { return silent.has_visitor(); }));
  run.send(SIGINT);
  const Finished finished = run.wait();
  BOOST_TEST(finished.signal == SIGINT);
  BOOST_TEST(finished.err == "");
}

BOOST_AUTO_TEST_CASE(what_a_machine_file_asks_for_and_a_node_does_not_have_is_named) {
  const RunWorkspace workspace;
  const auto refuse = [&](const std::string& right, const std::string& task,
                          const std::string& start, const std::vector<std::string>& words) {
    workspace.write(
        "run.yaml",
        "machine:\n"
        "  nodes:\n"
        "    left: {devices: {a: {kind: cpu, memory: m}}, memories: {m: {size: 1 GiB}}}\n"
        "    right: {" +
            right +
            "}\n"
            "  network: {bandwidth: 1 GB/s, latency: 50 us}\n"
            "tasks:\n"
            "  x: {op: uniform, shape: [4], on: left.a}\n"
            "  y: {" +
            task + "}\n");
    for (const char* command : {"run", "validate"}) {
      check_refused(workspace, {command, "run.yaml", "--local-nodes", "2"}, start, words);
    }
  };
  const std::string on_b = "op: scale, in: [x], alpha: 2, on: right.b";
  refuse("devices: {b: {kind: cpu, memory: m, cores: [1000]}}, memories: {m: {size: 1 GiB}}", on_b,
         "node n1 (127.0.0.1:", {"right.b is to own core 1000", "choose from"});
  refuse(
      "devices: {b: {kind: gpu, memory: v}}, memories: {m: {size: 1 GiB}, v: {size: 1 GiB}}, "
      "links: {pcie: {between: [m, v], bandwidth: 1 GB/s}}",
      on_b, "node n1 (127.0.0.1:", {"right.b is a GPU", "--map"});
  refuse("devices: {b: {kind: gpu, memory: m}}, memories: {m: {size: 1 GiB}}, network_memory: m",
         on_b, "run.yaml:5",
         {"link right.network joins right.m and network", "memory of the host only",
          "network_memory"});
  refuse(
      "devices: {b: {kind: cpu, memory: m}}, memories: {m: {size: 1 GiB}, "
      "disk: {kind: storage, directory: absent}}, "
      "links: {ssd: {between: [m, disk], bandwidth: 1 GB/s}}",
      "op: copy, in: [x], to: right.disk",
      "node n1 (127.0.0.1:", {"right.disk", "absent': No such file", "that exists"});
  refuse("devices: {b: {kind: cpu, memory: m}}, memories: {m: {size: 1000 PB}}",
         "op: zeros, shape: [1000000, 1000000], on: right.b", "run.yaml:8",
         {"needs 4 TB in right.m", "smaller tensors"});
}

BOOST_AUTO_TEST_CASE(a_machine_file_with_links_between_its_nodes_can_only_be_simulated) {
  const RunWorkspace workspace;
  for (const std::string& ends : {"n0.m, n1.m"s, "n0.m, n1.disk"s}) {
    workspace.write(
        "run.yaml",
        "machine:\n"
        "  nodes:\n"
        "    n:\n"
        "      count: 2\n"
        "      devices: {a: {kind: cpu, memory: m, flops: 1 GFLOP/s, bandwidth: 1 GB/s}}\n"
        "      memories: {m: {size: 1 GiB}, disk: {kind: storage}}\n"
        "      links: {ssd: {between: [m, disk], bandwidth: 1 GB/s}}\n"
        "  links: {cable: {between: [" +
            ends +
            "], bandwidth: 1 GB/s}}\n"
            "tasks:\n"
            "  x: {op: uniform, shape: [4], on: n0.a}\n"
            "  y: {op: scale, in: [x], alpha: 2, on: n1.a}\n");
    for (const char* command : {"run", "validate"}) {
      check_refused(
          workspace, {command, "run.yaml", "--local-nodes", "2"}, "run.yaml:8:",
          {"link cable joins n0.m and n1.", "different nodes", "`network`", "troupe simulate"});
    }
    BOOST_TEST(workspace.run({"simulate", "run.yaml"}).exit_code == 0);
  }
}

BOOST_AUTO_TEST_CASE(nodes_may_outnumber_what_there_is_to_do) {
  const Files files;
  const Finished finished = files.run({"run", "run.yaml", "--local-nodes", "4"});
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(contains(finished.out, "never busy: n1.cpu0, n2.cpu0, n3.cpu0"), finished.out);
}

// Two for each other node, and those of the program itself.
BOOST_AUTO_TEST_CASE(nodes_may_need_more_descriptors_than_the_soft_limit) {
  const Files files;
  const std::string command = fmt::format(
      "'{}'", fmt::join(troupe_command({"run", "run.yaml", "--local-nodes", "16"}), "' '"));
  const Finished finished =
      Program({"sh", "-c", "ulimit -Sn 20; exec " + command}, options_in(files)).wait();
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(!contains(finished.out, "was lost"), finished.out);
}

BOOST_AUTO_TEST_SUITE_END()
