// Runs on several hosts: network namespaces with a cable between them.
#include "tests/support/certificates.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"
#include "tests/support/slow_network.hpp"

#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <unistd.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(several_hosts)
namespace {

// The hosts 10.99.0.1 and 10.99.0.2. Requires can_make_hosts().
class TwoHosts {
 public:
  TwoHosts() {
    const Finished made = in_shell(
        fmt::format("set -e; ip netns add {0}; ip netns add {1};"
                    "ip link add eth0 netns {0} type veth peer name eth0 netns {1};"
                    "ip -n {0} address add 10.99.0.1/24 dev eth0;"
                    "ip -n {1} address add 10.99.0.2/24 dev eth0;"
                    "for n in {0} {1}; do ip -n $n link set lo up; ip -n $n link set eth0 up; done;"
                    "for n in {0} {1}; do for i in 1 2 3 4 5 6 7 8 9; do"
                    " ip -n $n link show eth0 | grep -q 'state UP' && break; sleep 0.1; done; done",
                    names_[0], names_[1]));
    BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.out);
  }
  ~TwoHosts() {
    for (const std::string& name : names_) in_shell("ip netns del " + name);
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  // The words of a command that runs another one on host 0 or 1.
  std::vector<std::string> on(int host) const { return {"ip", "netns", "exec", names_[host]}; }
  void cut_cable() const { in_shell(fmt::format("ip -n {} link set eth0 down", names_[0])); }

 private:
  const std::string names_[2] = {fmt::format("troupe-{}-a", getpid()),
                                 fmt::format("troupe-{}-b", getpid())};
};

const std::vector<std::string> trusting = {"--trust-network"};

// A run file with these tasks, whose leader is on the first host.
class Run : public RunWorkspace {
 public:
  // With these options for the nodes and for the leader.
  Run(const TwoHosts& hosts, const std::string& tasks,
      const std::vector<std::string>& of_nodes = trusting, std::vector<std::string> of_leader = {})
      : hosts_(hosts),
        of_leader_(std::move(of_leader)),
        a_(*this, hosts.on(0), "10.99.0.1:0", of_nodes),
        b_(*this, hosts.on(1), "10.99.0.2:0", of_nodes) {
    write("run.yaml",
          "machine: {discover: {}}\n"
          "tensors: {x: {op: uniform, shape: [700, 700], on: n0.cpu0}}\n" +
              tasks);
  }
  std::vector<std::string> command(const std::string& on_loss = "fail") const {
    std::vector<std::string> words = hosts_.on(0);
    for (const std::string& word :
         troupe_command({"run", "run.yaml", "--verbose", "--json", "report.json", "--on-loss",
                         on_loss, "--nodes", a_.address() + "," + b_.address()})) {
      words.push_back(word);
    }
    words.insert(words.end(), of_leader_.begin(), of_leader_.end());
    return words;
  }

 private:
  const TwoHosts& hosts_;
  const std::vector<std::string> of_leader_;
  NodeProcess a_;
  NodeProcess b_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_on_two_hosts_equals_a_serial_execution,
                     *boost::unit_test::precondition(can_make_hosts)) {
  const TwoHosts hosts;
  const Certificates certificates;
  const std::string tasks =
      "tasks:\n"
      "  y: {op: scale, in: [x], alpha: 2, repeat: 20, on: n1.cpu0}\n"
      "  z: {op: add, in: [y, x], on: n0.cpu0}\n";
  const auto check = [](const Run& run) {
    const Finished finished = Program(run.command(), options_in(run)).wait();
    BOOST_TEST_INFO(finished.err);
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(run.report()["scenarios"][0]["verified"] == true);
  };
  check(Run(hosts, tasks));
  check(Run(hosts, tasks, certificates.options(), certificates.options()));
  check(Run(hosts, tasks, certificates.options(trusting), certificates.options()));
}

BOOST_AUTO_TEST_CASE(a_cable_that_is_cut_ends_the_run_and_the_node_is_named,
                     *boost::unit_test::precondition(can_make_hosts)) {
  const TwoHosts hosts;
  const Run run(hosts,
                "tasks:\n"
                "  nap: {op: sleep, duration: 20 ms, in: [x], repeat: 1000, on: n0.cpu0}\n"
                "  copy: {op: copy, in: [nap], to: n1.mem0}\n");
  Program program(run.command(), options_in(run));
  BOOST_REQUIRE(program.wait_until([&] { return contains(program.err(), "planned"); }));
  hosts.cut_cable();
  const Finished finished = program.wait();
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 1);
  BOOST_TEST(contains(finished.err, "node n1 (10.99.0.2:"));
  BOOST_TEST(contains(finished.err, "lost"));
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_without_the_host_whose_cable_is_cut,
                     *boost::unit_test::precondition(can_make_hosts)) {
  const TwoHosts hosts;
  const Run run(hosts,
                "tasks:\n"
                "  nap: {op: sleep, duration: 10 ms, in: [x], repeat: 100, on: n0.cpu0}\n"
                "  there: {op: scale, in: [nap], alpha: 2, on: n1.cpu0}\n");
  Program program(run.command("replan"), options_in(run));
  BOOST_REQUIRE(program.wait_until([&] { return contains(program.err(), "planned"); }));
  hosts.cut_cable();
  const Finished finished = program.wait();
  BOOST_TEST_INFO(finished.err);
  BOOST_TEST(finished.exit_code == 0);
  BOOST_TEST(run.report()["scenarios"][0]["verified"] == true);
}

BOOST_AUTO_TEST_SUITE_END()
