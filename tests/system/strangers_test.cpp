// Whoever comes to the ports of a node while it works: the run ends right.
#include "tests/support/strangers.hpp"

#include "tests/support/certificates.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(strangers)
namespace {

constexpr std::size_t very_many = 10'000;

// Before and after the gate, tensors of 2 MB go from node to node, both ways.
const std::string guarded_copies =
    "machine: {discover: {}}\n"
    "tasks:\n"
    "  before: {pattern: stencil_1d, width: 2, steps: 250, kernel: empty, output_bytes: 2 MB,\n"
    "           on: [n0.cpu0, n1.cpu0]}\n"
    "  gate: {op: gate, on: n1.cpu0}\n"
    "  after: {pattern: stencil_1d, width: 2, steps: 50, kernel: empty, output_bytes: 2 MB,\n"
    "          on: [n0.cpu0, n1.cpu0]}\n"
    "scenarios: {all: [before, wait, gate, wait, after]}\n";

std::uint16_t port_in(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.find(':') + 1)));
}

std::string random_bytes(std::mt19937& random, std::size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void say_all_sorts(std::uint16_t port) {
  std::mt19937 random(7);
  Strangers strangers;
  const auto say = [&](const std::string& text) {
    strangers.push_back(std::make_unique<Stranger>(port));
    strangers.back()->say(text);
  };
  for (std::size_t bytes = 1; bytes < 100'000; bytes *= 3) say(random_bytes(random, bytes));
  say("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  say("SSH-2.0-OpenSSH_9.2\r\n");
  for (char operation = 0; operation < 8; ++operation) {
    for (const std::uint32_t length : {0U, 5U, ~0U}) {
      const std::string words = message_header(operation, length) + std::string(100, '\0');
      say(words);
      say("troupe-control-2" + words);  // from one that knows the word
    }
  }
  say(std::string("\x16\x03\x01\x02\x00\x01", 6));  // the beginning of a TLS handshake
  say("troupe-cont");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // until they have been heard
}

// A run on two nodes, during which `come` is called with the second node. `more`: options of nodes.
void run_while(const std::vector<std::string>& tls, const std::function<void(NodeProcess&)>& come,
               const std::vector<std::string>& more = {}) {
  const RunWorkspace files;
  files.write("run.yaml", guarded_copies);
  const RunWorkspace elsewhere;
  std::vector<std::string> options = tls;
  options.insert(options.end(), more.begin(), more.end());
  options.insert(options.end(), {"--ops", GATE_OPS_LIBRARY});
  NodeProcess a(elsewhere, options);
  NodeProcess b(elsewhere, options);
  std::vector<std::string> words = {"run",
                                    "run.yaml",
                                    "--verbose",
                                    "--json",
                                    "report.json",
                                    "--ops",
                                    GATE_OPS_LIBRARY,
                                    "--nodes",
                                    a.address() + "," + b.address()};
  words.insert(words.end(), tls.begin(), tls.end());
  Program run(troupe_command(words), options_in(files));
  wait_until_under_way(run);
  const Cost before = cost_of(b.program().pid());
  come(b);
  const Cost after = cost_of(b.program().pid());
  // Threads and tensors of the run may come only now.
  constexpr std::size_t more_threads_max = 20;
  constexpr std::size_t more_kib_max = 200'000;
  BOOST_TEST(after.threads < before.threads + more_threads_max);
#if defined(TROUPE_SANITIZE_ADDRESS)
  static_cast<void>(more_kib_max);  // AddressSanitizer keeps what is freed for a while
#else
  BOOST_TEST(after.resident_kib < before.resident_kib + more_kib_max);
#endif
  int looks = 0;
  BOOST_TEST(run.wait_until([&] { return ++looks == 4; }), "the run is over too early");
  for (const RunWorkspace* const place : {&elsewhere, &files}) place->write("open", "");
  const Finished finished = run.wait();
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(files.report()["scenarios"][0]["verified"] == true);
  BOOST_TEST(!contains(files.report()["notes"].dump(), "lost"), files.report()["notes"]);
  for (NodeProcess* const node : {&a, &b}) BOOST_TEST(node->finish().exit_code == 0);
}

void run_while_many_come(const std::vector<std::string>& tls) {
  run_while(tls, [](NodeProcess& node) {
    const Strangers strangers = connect_many(port_in(node.address()), very_many);
    BOOST_TEST_MESSAGE(fmt::format("{} connections", strangers.size()));
    BOOST_TEST(strangers.size() >= 1000U);
    for (std::size_t i = 0; i < strangers.size(); i += 2) strangers[i]->say("\x16\x03\x01");
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_strangers_say_to_the_control_port_does_a_run_no_harm) {
  for (const bool is_encrypted : {false, true}) {
    BOOST_TEST_CONTEXT("TLS: " << is_encrypted) {
      const Certificates certificates;
      run_while(is_encrypted ? certificates.options() : std::vector<std::string>(),
                [](NodeProcess& node) {
                  for (int i = 0; i < 4; ++i) say_all_sorts(port_in(node.address()));
                });
    }
  }
}

BOOST_AUTO_TEST_CASE(thousands_of_connections_to_the_control_port_do_a_run_no_harm) {
  const Certificates certificates;
  run_while_many_come({});
  run_while_many_come(certificates.options());
}

BOOST_AUTO_TEST_CASE(what_strangers_say_to_a_port_for_tensors_alone_does_a_run_no_harm) {
  const Certificates certificates;
  const auto come = [](NodeProcess& node) {
    std::set<std::uint16_t> ports = ports_of(node.program().pid());
    BOOST_TEST(ports.erase(port_in(node.address())) == 1U);
    BOOST_REQUIRE(ports.size() == 1U);
    for (int i = 0; i < 4; ++i) say_all_sorts(*ports.begin());
  };
  run_while(certificates.options(), come, {"--trust-network"});
}

BOOST_AUTO_TEST_CASE(a_node_has_one_port) {
  for (const bool is_encrypted : {false, true}) {
    const Certificates certificates;
    run_while(is_encrypted ? certificates.options() : std::vector<std::string>(),
              [](NodeProcess& node) {
                BOOST_TEST((ports_of(node.program().pid()) == std::set{port_in(node.address())}));
              });
  }
}

BOOST_AUTO_TEST_SUITE_END()
