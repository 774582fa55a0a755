// Runs on several hosts: network namespaces with a cable or a switch between them.
#include "tests/support/certificates.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"
#include "tests/support/slow_network.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <unistd.h>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(several_hosts)
namespace {

// Hosts a, b, …, which a command of the shell makes: $a, $b, … are the names of their namespaces.
class Hosts {
 public:
  ~Hosts() {
    for (const std::string& name : names_) in_shell("ip netns del " + name);
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  // The words of a command that runs another one on this host; hosts count from 0.
  std::vector<std::string> on(std::size_t host) const {
    return {"ip", "netns", "exec", names_[host]};
  }
  std::vector<std::string> on_that_of_the_leader() const { return on(leader_); }

 protected:
  Hosts(std::size_t hosts, std::size_t leader, const std::string& command) : leader_(leader) {
    std::string begin = "set -e;";
    for (std::size_t host = 0; host < hosts; ++host) {
      const char letter = static_cast<char>('a' + host);
      names_.push_back(fmt::format("troupe-{}-{}", getpid(), letter));
      begin += fmt::format("{0}={1}; ip netns add ${0};", letter, names_.back());
    }
    const Finished made = in_shell(begin + command);
    BOOST_REQUIRE_MESSAGE(made.exit_code == 0, made.out);
  }

  std::vector<std::string> names_;

 private:
  const std::size_t leader_;
};

// The hosts 10.99.0.1, which has the leader, too, and 10.99.0.2. Requires can_make_hosts().
class TwoHosts final : public Hosts {
 public:
  TwoHosts()
      : Hosts(2, 0,
              "ip link add eth0 netns $a type veth peer name eth0 netns $b;"
              "ip -n $a address add 10.99.0.1/24 dev eth0;"
              "ip -n $b address add 10.99.0.2/24 dev eth0;"
              "for n in $a $b; do ip -n $n link set lo up; ip -n $n link set eth0 up; done;"
              "for n in $a $b; do for i in 1 2 3 4 5 6 7 8 9; do"
              " ip -n $n link show eth0 | grep -q 'state UP' && break; sleep 0.1; done; done") {}
  void cut_cable() const { in_shell(fmt::format("ip -n {} link set eth0 down", names_[0])); }
};

// The hosts 10.99.0.1 and 10.99.0.2, whose packets to each other pass the host of the leader.
// Requires can_make_hosts().
class HostsOfOneSwitch final : public Hosts {
 public:
  HostsOfOneSwitch()
      : Hosts(3, 2,
              "ip -n $c link add switch type bridge; ip -n $c link set switch up;"
              "ip -n $c address add 10.99.0.3/24 dev switch; ip -n $c link set lo up;"
              "i=1; for n in $a $b; do"
              " ip -n $c link add to$i type veth peer name eth0 netns $n;"
              " ip -n $c link set to$i master switch; ip -n $c link set to$i up;"
              " ip -n $n address add 10.99.0.$i/24 dev eth0;"
              " ip -n $n link set lo up; ip -n $n link set eth0 up; i=$((i+1)); done;"
              "for i in 1 2; do for t in 1 2 3 4 5 6 7 8 9; do"
              " ip -n $c -d link show to$i | grep -q 'state forwarding' && break;"
              " sleep 0.1; done; done") {}
  // Whether the two hosts reach each other; the leader reaches both all the time.
  void set_passes(bool passes) const {
    for (const char* const port : {"to1", "to2"}) {
      const Finished set =
          in_shell(fmt::format("ip -n {} link set dev {} type bridge_slave isolated {}", names_[2],
                               port, passes ? "off" : "on"));
      BOOST_REQUIRE_MESSAGE(set.exit_code == 0, set.out);
    }
  }
};

const std::vector<std::string> trusting = {"--trust-network"};

// A run file with these tasks, and a node on each of the first two hosts.
class Run : public RunWorkspace {
 public:
  // With these options for the nodes and for the leader.
  Run(const Hosts& hosts, const std::string& tasks,
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
    std::vector<std::string> words = hosts_.on_that_of_the_leader();
    for (const std::string& word :
         troupe_command({"run", "run.yaml", "--verbose", "--json", "report.json", "--on-loss",
                         on_loss, "--nodes", a_.address() + "," + b_.address()})) {
      words.push_back(word);
    }
    words.insert(words.end(), of_leader_.begin(), of_leader_.end());
    return words;
  }

  // Of a node whose leader has given it up, and which says so when it notices.
  void end_second() { b_.end(); }

 private:
  const Hosts& hosts_;
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

BOOST_AUTO_TEST_CASE(a_name_server_that_does_not_answer_is_not_waited_for_without_end,
                     *boost::unit_test::precondition(can_make_hosts)) {
  const TwoHosts hosts;
  const RunWorkspace workspace;
  workspace.write("resolv.conf", "nameserver 10.99.0.77\n");  // no host has this address
  workspace.write("run.yaml", "machine: {discover: {}}\ntasks: {x: {op: zeros, shape: [8]}}\n");
  std::vector<std::string> words = hosts.on(0);
  const std::string mount = "mount --bind resolv.conf /etc/resolv.conf && exec \"$@\"";
  words.insert(words.end(), {"sh", "-c", mount, "sh"});
  for (const std::string& word : troupe_command({"run", "run.yaml", "--nodes", "far.example:7420",
                                                 "--trust-network", "--connect-timeout", "0.5"})) {
    words.push_back(word);
  }
  const Finished finished = Program(words, options_in(workspace)).wait();
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "who has the name 'far.example' was not known within 500 ms"),
             finished.err);
}

BOOST_AUTO_TEST_CASE(a_cable_that_is_cut_ends_the_run_and_the_node_is_named,
                     *boost::unit_test::precondition(can_make_hosts)) {
  const TwoHosts hosts;
  Run run(hosts,
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
  run.end_second();
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_without_the_host_whose_cable_is_cut,
                     *boost::unit_test::precondition(can_make_hosts)) {
  const TwoHosts hosts;
  Run run(hosts,
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
  run.end_second();
}

// x ─ n0 ─ n1 ─ n0 ─ … : while the packets of a small tensor are lost, nothing else is under way.
BOOST_AUTO_TEST_CASE(a_run_waits_out_a_short_interruption_between_two_nodes,
                     *boost::unit_test::precondition(can_make_hosts)) {
  const HostsOfOneSwitch hosts;
  const Certificates certificates;
  const std::string tasks =
      "tasks:\n"
      "  grid: {pattern: stencil_1d, width: 4, steps: 100, kernel: sleep, duration: 5 ms}\n";
  const auto check = [&](const Run& run) {
    Program program(run.command(), options_in(run));
    wait_until_under_way(program);
    hosts.set_passes(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    hosts.set_passes(true);
    const Finished finished = program.wait();
    BOOST_TEST_INFO(finished.err);
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(run.report()["scenarios"][0]["verified"] == true);
    BOOST_TEST(!contains(finished.err, "lost"));
  };
  check(Run(hosts, tasks));
  check(Run(hosts, tasks, certificates.options(), certificates.options()));
}

BOOST_AUTO_TEST_SUITE_END()
