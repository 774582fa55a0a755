// Runs whose ranks are started by a real Slurm, which the test starts for itself: a controller and
// a node on this host, and the munge daemon that they trust. Skipped where there is none of them.
#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

using namespace troupe::testing;
using nlohmann::json;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(slurm)
namespace {

// Of the loopback interface, that nobody uses at the moment.
int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool has_port =
      bind(listener, generic, bytes) == 0 && getsockname(listener, generic, &bytes) == 0;
  close(listener);
  BOOST_REQUIRE(has_port);
  return ntohs(address.sin_port);
}

std::string host_name() {
  char name[256] = {};
  BOOST_REQUIRE(gethostname(name, sizeof name - 1) == 0);
  const std::string_view full = name;
  return std::string(full.substr(0, full.find('.')));
}

// A Slurm with one node of eight processors, whatever this host has. It ends with this object.
class Slurm {
 public:
  Slurm() {
    place_.write("slurm.conf", configuration());
    // What the daemons have in common, and what nobody needs.
    place_.write("cgroup.conf", "ConstrainCores=no\n");
    place_.write("key", std::string(128, 'k'));
    for (const char* const only_for_owner : {"key", "."}) {
      fs::permissions(place_.path() / only_for_owner,
                      fs::perms::owner_read | fs::perms::owner_write | fs::perms::owner_exec);
    }
    start({"/usr/sbin/munged", "--foreground", "--force", "--socket=" + in_place("munge.socket"),
           "--key-file=" + in_place("key"), "--pid-file=" + in_place("munged.pid"),
           "--log-file=" + in_place("munged.log"), "--seed-file=" + in_place("munged.seed")});
    soon([&] { return fs::exists(place_.path() / "munge.socket"); });
    start({"/usr/sbin/slurmctld", "-D", "-f", in_place("slurm.conf")});
    start({"/usr/sbin/slurmd", "-D", "-f", in_place("slurm.conf")});
    is_up_ = soon([&] {
      return Program(srun({"/bin/true"}), options(place_, std::chrono::seconds(3)))
                 .wait()
                 .exit_code == 0;
    });
  }

  // Whether jobs can run.
  bool is_up() const { return is_up_; }
  std::vector<std::string> srun(const std::vector<std::string>& command,
                                const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"/usr/bin/srun"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }
  ProgramOptions options(const Workspace& workspace,
                         std::chrono::seconds limit = std::chrono::seconds(60)) const {
    ProgramOptions options = workspace.options();
    options.environment["SLURM_CONF"] = in_place("slurm.conf");
    options.limit = limit;
    return options;
  }

 private:
  std::string in_place(std::string_view name) const { return place_.path() / name; }
  std::string configuration() const {
    return fmt::format(
        "ClusterName=test\n"
        "SlurmctldHost={0}(127.0.0.1)\n"
        "SlurmctldPort={1}\n"
        "AuthType=auth/munge\n"
        "AuthInfo=socket={2}/munge.socket\n"
        "CredType=cred/munge\n"
        "MpiDefault=none\n"
        "ProctrackType=proctrack/linuxproc\n"
        "TaskPlugin=task/none\n"
        "SwitchType=switch/none\n"
        "SelectType=select/cons_tres\n"
        "SelectTypeParameters=CR_CPU\n"
        "SlurmUser=root\n"
        "SlurmdParameters=config_overrides\n"
        "StateSaveLocation={2}/state\n"
        "SlurmdSpoolDir={2}/spool\n"
        "SlurmctldPidFile={2}/slurmctld.pid\n"
        "SlurmdPidFile={2}/slurmd.pid\n"
        "SlurmctldLogFile={2}/slurmctld.log\n"
        "SlurmdLogFile={2}/slurmd.log\n"
        "NodeName={0} NodeAddr=127.0.0.1 Port={3} CPUs=8 State=UNKNOWN\n"
        "PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP\n",
        host_name(), free_port(), place_.path().string(), free_port());
  }
  void start(const std::vector<std::string>& command) {
    ProgramOptions options = place_.options();
    options.environment["SLURM_CONF"] = in_place("slurm.conf");
    daemons_.push_back(std::make_unique<Program>(command, options));
  }

  const Workspace place_;
  std::vector<std::unique_ptr<Program>> daemons_;
  bool is_up_ = false;
};

// Started when the first test needs it.
const Slurm& the_slurm() {
  static const Slurm slurm;
  return slurm;
}

boost::test_tools::assertion_result has_slurm(boost::unit_test::test_unit_id) {
  bool is_installed = geteuid() == 0;
  for (const char* const program :
       {"/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/srun"}) {
    is_installed = is_installed && access(program, X_OK) == 0;
  }
  boost::test_tools::assertion_result result = is_installed && the_slurm().is_up();
  result.message() << "needs root, Slurm and munge (Debian: slurm-wlm, munge), and a system on "
                      "which they start";
  return result;
}

// x on n0 → a on n1 → b on n2 → c on n0
struct Files : RunWorkspace {
  explicit Files(int repeat = 20) {
    write("run.yaml", fmt::format("machine: {{discover: {{}}}}\n"
                                  "tensors: {{x: {{op: uniform, shape: [64, 64], on: n0.cpu0}}}}\n"
                                  "tasks:\n"
                                  "  a: {{op: scale, alpha: 2, in: [x], repeat: {}, on: n1.cpu0}}\n"
                                  "  nap: {{op: sleep, duration: 3 ms, in: [a], on: n1.cpu0}}\n"
                                  "  b: {{op: add, in: [a, x], on: n2.cpu0}}\n"
                                  "  c: {{op: add, in: [b, x], on: n0.cpu0}}\n",
                                  repeat));
  }
  void check_verified(const Finished& finished) const {
    BOOST_TEST_INFO(finished.err);
    BOOST_REQUIRE(finished.exit_code == 0);
    BOOST_TEST(contains(finished.out, "Run on 3 nodes"));
    BOOST_TEST(finished.out.find("Run on") == finished.out.rfind("Run on"));  // rank 0 alone
    BOOST_TEST(report()["scenarios"][0]["verified"] == true);
  }
};

const std::vector<std::string> run_words = {"run", "run.yaml", "--json", "report.json"};

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_of_a_plain_srun_are_the_nodes_of_one_run,
                     *boost::unit_test::precondition(has_slurm)) {
  const Files files;
  Program srun(the_slurm().srun(troupe_command(run_words), {"-n", "3"}),
               the_slurm().options(files));
  files.check_verified(srun.wait());
}

BOOST_AUTO_TEST_CASE(ranks_of_srun_with_pmix_are_the_nodes_of_one_run,
                     *boost::unit_test::precondition(has_slurm)) {
  const Files files;
  Program srun(the_slurm().srun(troupe_command(run_words), {"-n", "3", "--mpi=pmix"}),
               the_slurm().options(files));
  files.check_verified(srun.wait());
}

BOOST_AUTO_TEST_CASE(a_run_under_srun_goes_on_without_a_rank_that_is_killed,
                     *boost::unit_test::precondition(has_slurm)) {
  const Files files(300);
  const std::string shell =
      fmt::format("echo $$ > pid-$SLURM_PROCID; exec {} run run.yaml --verbose --json report.json",
                  TROUPE_PROGRAM);
  Program srun(the_slurm().srun({"/bin/sh", "-c", shell}, {"-n", "3"}), the_slurm().options(files));
  BOOST_REQUIRE(srun.wait_until([&] { return contains(srun.err(), "planned"); }));
  kill(std::stoi(files.read("pid-2")), SIGKILL);
  const Finished finished = srun.wait();  // which fails: a rank was killed
  BOOST_TEST_INFO(finished.err);
  const json made = files.report();
  BOOST_TEST(made["scenarios"][0]["outcome"] == "done");
  BOOST_TEST(made["scenarios"][0]["verified"] == true);
  BOOST_TEST(contains(made["notes"].dump(), "n2 was lost"));
}

BOOST_AUTO_TEST_CASE(an_interrupt_of_srun_ends_all_ranks,
                     *boost::unit_test::precondition(has_slurm)) {
  const Files files(10'000);
  Program srun(the_slurm().srun(troupe_command({"run", "run.yaml", "--verbose"}), {"-n", "3"}),
               the_slurm().options(files));
  BOOST_REQUIRE(srun.wait_until([&] { return contains(srun.err(), "planned"); }));
  srun.send(SIGTERM);
  const Finished finished = srun.wait();
  BOOST_TEST(!finished.timed_out);
  check_nothing_is_left(files);
}

BOOST_AUTO_TEST_SUITE_END()
