// Nodes with TLS: runs on them, and certificates that are refused.
#include "tests/support/certificates.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/run_workspace.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace troupe::testing;
namespace fs = std::filesystem;
using std::chrono::hours;

BOOST_AUTO_TEST_SUITE(secure_nodes)
namespace {

// Tensors go to and fro: 8 of 4 MB, in several chunks each, and as many of 4 bytes.
const std::string to_and_fro =
    "machine: {discover: {}}\n"
    "tensors:\n"
    "  x: {op: uniform, shape: [1000, 1000], on: n0.cpu0}\n"
    "  s: {op: uniform, shape: [1], on: n1.cpu0}\n"
    "tasks:\n"
    "  big: {op: scale, in: [x], alpha: 2, repeat: 8, on: n0.cpu0}\n"
    "  there: {op: add, in: [big, x], on: n1.cpu0}\n"
    "  back: {op: sub, in: [there, x], on: n0.cpu0}\n"
    "  small: {op: scale, in: [s], alpha: 3, repeat: 8, on: n1.cpu0}\n"
    "  home: {op: add, in: [small, s], on: n0.cpu0}\n"
    "scenarios:\n"
    "  at once: [big, there, back, small, home]\n"
    "  in turns: [big, wait, there, wait, back, small, wait, home]\n";

std::vector<std::string> run_on(const std::string& nodes, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run", "run.yaml", "--json", "report.json", "--nodes", nodes};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class Files : public RunWorkspace {
 public:
  Files() { write("run.yaml", to_and_fro); }

  Finished run_on_nodes(const std::string& nodes, const std::vector<std::string>& more) const {
    return run_troupe(run_on(nodes, more), options_in(*this));
  }
  void check_verified(const Finished& finished) const {
    BOOST_TEST_INFO(finished.err);
    BOOST_REQUIRE(finished.exit_code == 0);
    const nlohmann::json made = report();
    for (const auto& scenario : made["scenarios"]) BOOST_TEST(scenario["verified"] == true);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_set_of_certificates_is_made_once) {
  const Workspace workspace;
  const Finished made = workspace.run({"node", "--make-certs", "new/certs"});
  BOOST_TEST_INFO(made.err);
  BOOST_TEST(made.exit_code == 0);
  BOOST_TEST(contains(made.out, "--tls-cert new/certs/node.pem"));
  const fs::path folder = workspace.path() / "new/certs";
  BOOST_TEST((fs::status(folder / "node.key").permissions() ==
              (fs::perms::owner_read | fs::perms::owner_write)));
  const NodeProcess node(workspace, {"--tls-cert", folder / "node.pem", "--tls-key",
                                     folder / "node.key", "--tls-ca", folder / "ca.pem"});
  check_refused(workspace, {"node", "--make-certs", "new/certs"},
                "'new/certs/ca.pem' is there already", {"another folder"});
}

BOOST_AUTO_TEST_CASE(a_run_over_tls_equals_a_serial_execution_and_says_so) {
  const Files files;
  const Certificates certificates;
  const RunWorkspace elsewhere;
  NodeProcess a(elsewhere, certificates.options());
  const NodeProcess b(elsewhere, certificates.options());
  BOOST_TEST(contains(a.program().out(), "with TLS; tensors go over TLS, too, slower"));
  for (int i = 0; i < 2; ++i) {
    const Finished finished =
        files.run_on_nodes(a.address() + "," + b.address(), certificates.options());
    files.check_verified(finished);
    BOOST_TEST(contains(finished.out, "over TLS, which is slower"));
    BOOST_TEST(contains(files.report()["notes"].dump(), "over TLS, which is slower"));
  }
}

BOOST_AUTO_TEST_CASE(where_the_network_is_trusted_only_control_goes_over_tls) {
  const Files files;
  const Certificates certificates;
  const RunWorkspace elsewhere;
  NodeProcess a(elsewhere, certificates.options({"--trust-network"}));
  const NodeProcess b(elsewhere, certificates.options({"--trust-network"}));
  BOOST_TEST(contains(a.program().out(), "tensors go without, which is faster"));
  const Finished finished =
      files.run_on_nodes(a.address() + "," + b.address(), certificates.options());
  files.check_verified(finished);
  BOOST_TEST(!contains(finished.out, "over TLS"));
}

BOOST_AUTO_TEST_CASE(nodes_that_send_tensors_in_different_ways_are_refused) {
  const Files files;
  const Certificates certificates;
  const RunWorkspace elsewhere;
  const NodeProcess a(elsewhere, certificates.options());
  const NodeProcess b(elsewhere, certificates.options({"--trust-network"}));
  check_refused(files, run_on(a.address() + "," + b.address(), certificates.options()),
                "node " + a.address() + " sends tensors over TLS, and node " + b.address(),
                {"--trust-network"});
}

BOOST_AUTO_TEST_CASE(a_node_may_listen_for_other_hosts_with_tls) {
  const RunWorkspace workspace;
  const Certificates certificates;
  std::vector<std::string> words = {"node", "--listen", "192.0.2.1:0"};  // of no host: RFC 5737
  check_refused(workspace, words, "'192.0.2.1' can be reached from other hosts",
                {"--tls-cert", "--make-certs", "--trust-network"});
  for (const std::string& option : certificates.options()) words.push_back(option);
  check_refused(workspace, words, "can't listen on 192.0.2.1:0", {"address of this host"});
}

BOOST_AUTO_TEST_CASE(a_leader_without_the_right_certificate_is_refused_and_the_node_goes_on) {
  const Files files;
  const Certificates certificates;
  const Certificates others;
  const RunWorkspace elsewhere;
  NodeProcess node(elsewhere, certificates.options());
  check_refused(files, run_on(node.address(), others.options()), "node " + node.address(),
                {"certificate", "the same set"});
  check_refused(files, run_on(node.address(), {}), "node " + node.address(), {"--tls-cert"});
  files.write("run.yaml", "machine: {discover: {}}\ntasks: {x: {op: uniform, shape: [4, 4]}}\n");
  files.check_verified(files.run_on_nodes(node.address(), certificates.options()));
  const std::string said = node.end();
  BOOST_TEST(contains(said, "troupe: refused a connection from 127.0.0.1:"));
  BOOST_TEST(contains(said, "unknown CA"), said);
}

BOOST_AUTO_TEST_CASE(a_leader_with_tls_is_refused_by_a_node_without) {
  const Files files;
  const Certificates certificates;
  const RunWorkspace elsewhere;
  NodeProcess node(elsewhere);
  check_refused(files, run_on(node.address(), certificates.options()), "node " + node.address(),
                {"--tls-cert"});
  BOOST_TEST(contains(node.end(), "speaks TLS, which this node doesn't expect"));
}

BOOST_AUTO_TEST_CASE(a_node_with_tls_that_is_killed_or_suspended_is_lost_and_the_other_is_free) {
  const Certificates certificates;
  for (const int blow : {SIGKILL, SIGSTOP}) {
    BOOST_TEST_CONTEXT("signal " << blow) {
      const Files files;
      files.write("run.yaml",
                  "machine: {discover: {}}\n"
                  "tasks:\n"
                  "  y: {pattern: stencil_1d, width: 2, steps: 2000, kernel: empty,\n"
                  "      output_bytes: 2 MB, on: [n0.cpu0, n1.cpu0]}\n");
      const RunWorkspace elsewhere;
      NodeProcess a(elsewhere, certificates.options());
      NodeProcess b(elsewhere, certificates.options());
      Program run(
          troupe_command(run_on(a.address() + "," + b.address(),
                                certificates.options({"--no-verify", "--verbose", "--on-loss",
                                                      "fail", "--node-timeout", "3"}))),
          options_in(files));
      wait_until_under_way(run);
      b.program().send(blow);
      const Finished finished = run.wait();
      b.program().send(SIGCONT);
      BOOST_REQUIRE(finished.exit_code == 1);
      BOOST_TEST(contains(finished.err, fmt::format("node n1 ({})", b.address())), finished.err);
      BOOST_TEST(contains(finished.err, "was lost"));
      BOOST_TEST(contains(finished.err, "; see what has become of it"));
      files.write("run.yaml",
                  "machine: {discover: {}}\ntasks: {x: {op: uniform, shape: [4, 4]}}\n");
      files.check_verified(files.run_on_nodes(a.address(), certificates.options()));
      b.end();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_run_over_tls_that_has_one_node_left_says_so_all_the_same) {
  const Certificates certificates;
  const Files files;
  files.write("run.yaml",
              "machine: {discover: {}}\n"
              "tasks:\n"
              "  nap: {op: sleep, duration: 10 ms, repeat: 300, on: n0.cpu0}\n"
              "  lost: {op: sleep, duration: 10 ms, repeat: 300, on: n1.cpu0}\n");
  const RunWorkspace elsewhere;
  NodeProcess a(elsewhere, certificates.options());
  NodeProcess b(elsewhere, certificates.options());
  Program run(
      troupe_command(run_on(a.address() + "," + b.address(), certificates.options({"--verbose"}))),
      options_in(files));
  wait_until_under_way(run);
  b.program().send(SIGKILL);
  const Finished finished = run.wait();
  BOOST_TEST(finished.exit_code == 0, finished.err);
  BOOST_TEST(contains(finished.out, "n1 was lost"), finished.out);
  BOOST_TEST(contains(finished.out, "over TLS, which is slower"), finished.out);
}

BOOST_AUTO_TEST_CASE(bad_certificates_are_refused_by_nodes_and_leaders) {
  const Files files;
  const Certificates good;
  const Certificates other;
  const Certificates expired({.begin = hours(-48), .end = hours(-24)});
  const Certificates early({.begin = hours(24), .end = hours(48)});
  const Certificates readable;
  fs::permissions(readable.path("node.key"), fs::perms::others_read, fs::perm_options::add);
  const auto refuse = [&](const std::string& certificate, const std::string& key,
                          const std::string& authority, const std::string& start,
                          const std::string& word) {
    const std::vector<std::string> tls = {"--tls-cert", certificate, "--tls-key",
                                          key,          "--tls-ca",  authority};
    std::vector<std::string> node = {"node", "--listen", "127.0.0.1:0"};
    node.insert(node.end(), tls.begin(), tls.end());
    check_refused(files, node, start, {word});
    check_refused(files, run_on("127.0.0.1:1", tls), start, {word});
  };
  const auto refuse_set = [&](const Certificates& set, const std::string& start,
                              const std::string& word) {
    refuse(set.path("node.pem"), set.path("node.key"), set.path("ca.pem"), start, word);
  };
  refuse("absent.pem", good.path("node.key"), good.path("ca.pem"), "'absent.pem' can't be read",
         "No such file");
  refuse(good.path("node.pem"), "run.yaml", good.path("ca.pem"), "the key 'run.yaml' can be read",
         "chmod 600");
  refuse_set(readable, "the key '" + readable.path("node.key") + "' can be read by other users",
             "chmod 600");
  refuse_set(expired, "the certificate '" + expired.path("node.pem") + "' has expired",
             "--make-certs");
  refuse_set(early, "the certificate '" + early.path("node.pem") + "' isn't valid before", "clock");
  refuse(good.path("node.pem"), good.path("node.key"), other.path("ca.pem"),
         "the certificate '" + good.path("node.pem") + "' isn't one of the authority", "together");
  refuse(good.path("node.pem"), other.path("node.key"), good.path("ca.pem"),
         "the key '" + other.path("node.key") + "' is not that of the certificate", "together");
}

BOOST_AUTO_TEST_CASE(options_of_tls_go_together) {
  const Files files;
  check_refused(files, {"node", "--tls-cert", "x.pem"}, "--tls-cert requires", {"--tls-"});
  check_refused(files, {"run", "run.yaml", "--tls-ca", "x.pem"}, "--tls-ca requires", {"--tls-"});
}

BOOST_AUTO_TEST_SUITE_END()
