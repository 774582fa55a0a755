// Runs whose ranks are started by a launcher: by Open MPI's mpirun, which has PMIx, and by Slurm's
// srun without PMIx, of which the environment is recorded here.
#include "apps/troupe/launch/slurm_launch.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace troupe::testing;
using nlohmann::json;
using Hosts = std::vector<std::string>;
using Counts = std::vector<std::size_t>;

BOOST_AUTO_TEST_SUITE(launch)
namespace {

// x on n0 → a on n1, with naps → b on n2 → sums on n0
const std::string across =
    "machine: {discover: {}}\n"
    "tensors: {x: {op: uniform, shape: [64, 64], on: n0.cpu0}}\n"
    "tasks:\n"
    "  a: {op: scale, alpha: 2, in: [x], repeat: REPEAT, on: n1.cpu0}\n"
    "  nap: {op: sleep, duration: 3 ms, in: [a], on: n1.cpu0}\n"
    "  b: {op: add, in: [a, x], on: n2.cpu0}\n"
    "  sum: {op: add, in: [b, x], on: n0.cpu0}\n";

struct Files : RunWorkspace {
  Files() { set_repeat(3); }
  void set_repeat(int count) const {
    std::string text = across;
    write("run.yaml", text.replace(text.find("REPEAT"), 6, std::to_string(count)));
  }
  void check_verified(const Finished& finished) const {
    BOOST_TEST_INFO(finished.err);
    BOOST_REQUIRE(finished.exit_code == 0);
    BOOST_TEST(finished.out.find("Run on 3 nodes") != std::string::npos);
    BOOST_TEST(finished.out.find("Run on") == finished.out.rfind("Run on"));  // rank 0 alone
    BOOST_TEST(report()["scenarios"][0]["verified"] == true);
  }
};

boost::test_tools::assertion_result has_mpirun(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result =
      access("/usr/bin/mpirun", X_OK) == 0 &&
      std::filesystem::exists(std::filesystem::path(TROUPE_PROGRAM).parent_path() /
                              "libtroupe_pmix.so");
  result.message() << "needs Open MPI's mpirun, and Troupe built with PMIx";
  return result;
}

boost::test_tools::assertion_result has_list_of_children(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result =
      std::filesystem::exists(fmt::format("/proc/{0}/task/{0}/children", getpid()));
  result.message() << "needs a kernel with CONFIG_PROC_CHILDREN";
  return result;
}

std::vector<std::string> mpirun(const std::vector<std::string>& command,
                                const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"/usr/bin/mpirun", "--oversubscribe", "-n", "3"};
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

ProgramOptions mpi_options(const Workspace& workspace) {
  ProgramOptions options = options_in(workspace);
  options.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
  options.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  return options;
}

// What srun -n 3 has set on one host, or on more, as Slurm 22.05 does.
ProgramOptions srun_options(const Workspace& workspace, int rank, const std::string& hosts = "vm",
                            const std::string& counts = "3") {
  ProgramOptions options = options_in(workspace);
  // The number of the job decides the ports: those of this process.
  options.environment.insert({{"SLURM_JOB_ID", std::to_string(getpid())},
                              {"SLURM_STEP_ID", "0"},
                              {"SLURM_STEP_NODELIST", hosts},
                              {"SLURM_STEP_NUM_TASKS", "3"},
                              {"SLURM_STEP_TASKS_PER_NODE", counts},
                              {"SLURM_PROCID", std::to_string(rank)},
                              {"SLURMD_NODENAME", "vm"}});
  return options;
}

const std::vector<std::string> run_words = {"run", "run.yaml", "--json", "report.json"};

}  // namespace

BOOST_FIXTURE_TEST_CASE(ranks_of_mpirun_are_the_nodes_of_one_run, Files,
                        *boost::unit_test::precondition(has_mpirun)) {
  Program program(mpirun(troupe_command(run_words)), mpi_options(*this));
  check_verified(program.wait());
}

BOOST_FIXTURE_TEST_CASE(a_run_goes_on_without_a_rank_that_is_killed, Files,
                        *boost::unit_test::precondition(has_mpirun)) {
  set_repeat(500);
  // mpirun is slow to pass on what ranks say: too slow to learn from it when the run has begun.
  const std::string shell = fmt::format(
      "echo $$ > pid-$OMPI_COMM_WORLD_RANK; "
      "exec {} run run.yaml --verbose --json report.json 2> errors-$OMPI_COMM_WORLD_RANK",
      TROUPE_PROGRAM);
  Program program(mpirun({"/bin/sh", "-c", shell}, {"--enable-recovery"}), mpi_options(*this));
  BOOST_REQUIRE(program.wait_until([&] {
    return std::filesystem::exists(path() / "errors-0") &&
           contains(read("errors-0"), "is under way");
  }));
  kill(std::stoi(read("pid-2")), SIGKILL);
  program.wait();  // mpirun fails in any case: a rank was killed
  const json made = report();
  BOOST_TEST(made["scenarios"][0]["outcome"] == "done");
  BOOST_TEST(made["scenarios"][0]["verified"] == true);
  BOOST_TEST(contains(made["notes"].dump(), "n2 was lost"));
}

// The rank goes on, and has a node no more.
BOOST_FIXTURE_TEST_CASE(a_run_that_has_lost_the_node_of_a_rank_ends_all_ranks_with_0, Files,
                        *boost::unit_test::precondition(has_mpirun) *
                            boost::unit_test::precondition(has_list_of_children)) {
  set_repeat(500);
  const std::string shell = fmt::format(
      "echo $$ > pid-$OMPI_COMM_WORLD_RANK; "
      "exec {} run run.yaml --verbose --json report.json 2> errors-$OMPI_COMM_WORLD_RANK",
      TROUPE_PROGRAM);
  Program program(mpirun({"/bin/sh", "-c", shell}), mpi_options(*this));
  BOOST_REQUIRE(program.wait_until([&] {
    return std::filesystem::exists(path() / "errors-0") &&
           contains(read("errors-0"), "is under way");
  }));
  const int leader = std::stoi(read("pid-0"));
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", leader));
  pid_t node = 0;
  BOOST_REQUIRE(children >> node);
  kill(node, SIGKILL);
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 0, finished.err);
  BOOST_TEST(report()["scenarios"][0]["outcome"] == "done");
  BOOST_TEST(contains(report()["notes"].dump(), "n0 was lost"));
}

BOOST_FIXTURE_TEST_CASE(a_run_file_that_is_refused_ends_all_ranks, Files,
                        *boost::unit_test::precondition(has_mpirun)) {
  write("run.yaml", "tasks: 7\n");
  Program program(mpirun(troupe_command(run_words)), mpi_options(*this));
  const Finished finished = program.wait();
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "troupe: run.yaml:1"));
}

BOOST_FIXTURE_TEST_CASE(ranks_of_srun_without_pmix_are_the_nodes_of_one_run, Files) {
  Program second(troupe_command(run_words), srun_options(*this, 1));
  Program leader(troupe_command(run_words), srun_options(*this, 0));
  Program third(troupe_command(run_words), srun_options(*this, 2));
  check_verified(leader.wait());
  for (Program* const other : {&second, &third}) {
    const Finished finished = other->wait();
    BOOST_TEST(finished.exit_code == 0);
    BOOST_TEST(finished.out == "");
    BOOST_TEST(finished.err == "");
  }
}

BOOST_FIXTURE_TEST_CASE(ranks_on_several_hosts_need_a_safe_network, Files) {
  const Finished finished = run_troupe(run_words, srun_options(*this, 1, "vm,far", "2,1"));
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "the ranks are on several hosts"), finished.err);
  BOOST_TEST(contains(finished.err, "--trust-network"));
}

BOOST_FIXTURE_TEST_CASE(ranks_that_are_not_in_blocks_are_refused, Files) {
  const Finished finished = run_troupe(run_words, srun_options(*this, 1, "far,vm", "2,1"));
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "rank 1 is on vm, though the order of hosts says far"),
             finished.err);
}

BOOST_FIXTURE_TEST_CASE(an_environment_of_slurm_that_contradicts_itself_is_refused, Files) {
  struct {
    int rank;
    std::string hosts;
    std::string counts;
    std::string word;
  } const cases[] = {
      {3, "vm", "3", "rank 3 of 3 doesn't go with Slurm's list of tasks, '3'"},
      {7, "vm", "3", "rank 7 of 3"},
      {0, "vm", "1", "rank 0 of 3 doesn't go with Slurm's list of tasks, '1'"},
      {0, "vm", "0", "rank 0 of 3"},
      {0, "vm,far", "3", "differ in length"},
      {0, "h[1-9999999999]", "3", "Slurm's list of hosts, 'h[1-9999999999]', can't be read"},
      {0, "vm", "1(x9999999999)", "Slurm's list of tasks, '1(x9999999999)', can't be read"},
  };
  for (const auto& [rank, hosts, counts, word] : cases) {
    const Finished finished = run_troupe(run_words, srun_options(*this, rank, hosts, counts));
    BOOST_TEST(finished.exit_code == 2, word);
    BOOST_TEST(contains(finished.err, word), finished.err);
    BOOST_TEST(contains(finished.err, "srun --mpi=pmix"), finished.err);
  }
}

BOOST_FIXTURE_TEST_CASE(a_rank_whose_node_can_not_start_is_named_and_ends_with_2, Files) {
  std::vector<std::string> words = run_words;
  words.insert(words.end(), {"--ops", "none.so"});
  const Finished finished = run_troupe(words, srun_options(*this, 1));
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "none.so"), finished.err);
  BOOST_TEST(contains(finished.err, "node n1 has ended before it listened"), finished.err);
}

BOOST_FIXTURE_TEST_CASE(nodes_are_named_or_launched_not_both, Files) {
  std::vector<std::string> both = run_words;
  both.insert(both.end(), {"--local-nodes", "2"});
  const Finished finished = run_troupe(both, srun_options(*this, 0));
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "leave --nodes and --local-nodes out"), finished.err);
}

BOOST_FIXTURE_TEST_CASE(ranks_that_no_launcher_starts_again_are_not_waited_for, Files) {
  std::vector<std::string> words = run_words;
  words.insert(words.end(), {"--on-loss", "wait:5s"});
  const Finished finished = run_troupe(words, srun_options(*this, 0));
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(contains(finished.err, "srun and mpirun start no process again"), finished.err);
  BOOST_TEST(contains(finished.err, "give --nodes to one process"), finished.err);
}

BOOST_AUTO_TEST_CASE(lists_of_slurm_are_read) {
  using troupe::expand_counts;
  using troupe::expand_hosts;
  BOOST_TEST((expand_hosts("vm") == Hosts{"vm"}));
  BOOST_TEST((expand_hosts("n[08-10,12],gpu3") == Hosts{"n08", "n09", "n10", "n12", "gpu3"}));
  BOOST_TEST((expand_hosts("a[1-2]-ib") == Hosts{"a1-ib", "a2-ib"}));
  BOOST_TEST((expand_counts("2(x3),1") == Counts{2, 2, 2, 1}));
  for (const char* const wrong : {"n[1-x]", "n[1", "a[1]b[2]", "n[2-1]"}) {
    expect_error(troupe::ErrorKind::usage, "--mpi=pmix", [&] { expand_hosts(wrong); });
  }
  expect_error(troupe::ErrorKind::usage, "--mpi=pmix", [&] { expand_counts("2(y3)"); });
}

BOOST_AUTO_TEST_SUITE_END()
