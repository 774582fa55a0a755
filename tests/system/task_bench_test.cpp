// task_bench through its command line: what it refuses, what it writes, and that every runtime that
// is there carries out every pattern, on one node or on several.
#include "tests/support/workspace.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(task_bench)
namespace {

using Arguments = std::vector<std::string>;

const std::vector<std::string> all_patterns{
    "trivial",    "no_comm", "stencil_1d", "stencil_1d_periodic", "dom", "tree", "fft",
    "all_to_all", "nearest", "spread",     "random_nearest"};
const std::vector<std::string> all_runtimes{"troupe", "simulate", "sequential", "tbb",
                                            "openmp", "starpu",   "simgrid"};

// Whether the module of a peer was built. A test case that needs it is skipped, by name, if not.
class HasModule {
 public:
  explicit HasModule(std::string peer) : peer_(std::move(peer)) {}
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id) const {
    const std::filesystem::path program = TASK_BENCH_PROGRAM;
    boost::test_tools::assertion_result result(
        std::filesystem::exists(program.parent_path() / ("task_bench_" + peer_ + ".so")));
    result.message() << peer_ << " is not installed";
    return result;
  }

 private:
  std::string peer_;
};

Finished run(const Workspace& workspace, Arguments arguments) {
  arguments.insert(arguments.begin(), TASK_BENCH_PROGRAM);
  return Program(arguments, workspace.options()).wait();
}

// Exit code 2 and one line on standard error with each of `words` in it.
void check_refused(const Arguments& arguments, const std::vector<std::string>& words) {
  const Workspace workspace;
  const Finished f = run(workspace, arguments);
  BOOST_TEST_CONTEXT(f.err) {
    BOOST_TEST(f.exit_code == 2);
    BOOST_TEST(f.out == "");
    BOOST_TEST(f.err.starts_with("task_bench: "));
    BOOST_TEST(std::count(f.err.begin(), f.err.end(), '\n') == 1);
    for (const std::string& word : words) {
      BOOST_TEST(f.err.find(word) != std::string::npos, "wanted: " << word);
    }
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(sizes_that_are_not_positive_are_refused) {
  for (const std::string option : {"--width", "--steps", "--radix", "--devices", "--repetitions"}) {
    for (const std::string value : {"0", "-1"}) {
      check_refused({option, value}, {option + " is " + value, "from 1 to"});
    }
  }
}

BOOST_AUTO_TEST_CASE(a_window_that_is_no_positive_number_is_refused) {
  for (const std::string value : {"0", "-1"}) {
    check_refused({"--window", value}, {"--window is " + value, "from 1 to"});
  }
  for (const std::string value : {"ten", "1.5", "", "99999999999999999999"}) {
    check_refused({"--window", value}, {"--window"});
  }
  check_refused({"--window"}, {"--window"});
}

BOOST_AUTO_TEST_CASE(sizes_whose_product_overflows_are_refused) {
  check_refused({"--width", "4294967295", "--steps", "4294967295"},
                {"18446744065119617025 points"});
  check_refused({"--type", "all_to_all", "--width", "20000", "--steps", "100"},
                {"40000000000 dependences"});
  check_refused({"--width", "99999999999999999999"}, {"--width is too large"});
  check_refused({"--radix", "-99999999999999999999"}, {"--radix is too small"});
}

BOOST_AUTO_TEST_CASE(more_devices_than_columns_are_refused) {
  check_refused({"--width", "4", "--devices", "5"}, {"--devices is 5", "4 columns"});
}

BOOST_AUTO_TEST_CASE(a_machine_file_is_for_what_is_simulated) {
  const std::string file = TROUPE_SOURCE_DIR "/config/machines/cluster.yaml";
  check_refused({"--machine", file}, {"--machine", "troupe isn't", "--runtime simulate"});
  check_refused({"--machine", "none.yaml", "--runtime", "simulate"}, {"none.yaml"});
  check_refused({"--machine", file, "--width", "2", "--runtime", "simulate"}, {"2 columns"});
  const Workspace workspace;
  const Finished f = run(workspace, {"--machine", file, "--width", "64", "--steps", "3",
                                     "--runtime", "simulate", "--unplaced"});
  BOOST_TEST(f.exit_code == 0, f.err);
  BOOST_TEST(f.out.find("192 tasks on 24 devices") != std::string::npos, f.out);
}

BOOST_AUTO_TEST_CASE(a_metg_outside_0_to_1_is_refused) {
  for (const std::string value : {"0", "1", "-0.5", "1.5", "nan"}) {
    check_refused({"--metg", value, "--iterations", "10"}, {"--metg is", "between 0 and 1"});
  }
  check_refused({"--metg", "0.5"}, {"--kernel spin --iterations"});
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused_with_the_nearest_one) {
  check_refused({"--type", "stencil_1"}, {"'stencil_1'", "did you mean 'stencil_1d'?"});
  check_refused({"--runtime", "troupe,tbbb"}, {"'tbbb'", "did you mean 'tbb'?"});
  check_refused({"--kernel", "spinn"}, {"'spinn'", "did you mean 'spin'?"});
  check_refused({"--wdith", "4"}, {"--wdith", "--help"});
}

BOOST_AUTO_TEST_CASE(numbers_out_of_range_are_refused) {
  check_refused({"--output-bytes", "15"}, {"output bytes is 15"});
  check_refused({"--output-bytes", "-1"}, {"--output-bytes is -1"});
  check_refused({"--iterations", "-1"}, {"iterations is -1"});
  check_refused({"--kernel", "memory", "--bytes", "-1"}, {"bytes is -1"});
  check_refused({"--kernel", "memory", "--iterations", "1"}, {"'memory' takes no --iterations"});
  check_refused({"--imbalance", "1.5"}, {"imbalance is 1.5"});
  check_refused({"--fraction", "2"}, {"fraction is 2"});
  check_refused({"--seed", "-1"}, {"--seed is -1"});
  check_refused({"--repetitions", "1001"}, {"--repetitions is 1001", "to 1000"});
  check_refused({"--type", "spread", "--width", "4", "--radix", "5"}, {"radix is 5", "4 columns"});
}

BOOST_AUTO_TEST_CASE(payloads_that_no_host_can_hold_are_named) {
  const Workspace workspace;
  const Finished f = run(workspace, {"--output-bytes", "1073741824", "--width", "20000000",
                                     "--steps", "1", "--runtime", "sequential"});
  BOOST_TEST(f.exit_code == 1);
  BOOST_TEST_INFO(f.err);
  BOOST_TEST(f.err.find("payloads of 42.95 PB don't fit into memory") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_path_that_can_not_be_written_is_refused_before_anything_runs) {
  check_refused({"--json", "no/such/folder.json"}, {"no/such/folder.json"});
}

// Payloads are checked as they are read, so that a run that ends well has carried the pattern out.
BOOST_AUTO_TEST_CASE(every_runtime_carries_out_every_pattern_or_is_named_as_absent) {
  const Workspace workspace;
  for (const std::string& type : all_patterns) {
    const Finished f = run(workspace, {"--type",         type,
                                       "--width",        "6",
                                       "--steps",        "9",
                                       "--devices",      "2",
                                       "--runtime",      joined(all_runtimes),
                                       "--iterations",   "50",
                                       "--imbalance",    "1",
                                       "--output-bytes", "40",
                                       "--repetitions",  "1",
                                       "--json",         "result.json"});
    BOOST_TEST_CONTEXT(type << ": " << f.err) {
      BOOST_TEST(f.exit_code == 0);
      std::set<std::string> seen;
      for (const auto& entry : nlohmann::json::parse(workspace.read("result.json"))) {
        seen.insert(entry.at("runtime").get<std::string>());
        BOOST_TEST(entry.at("type") == type);
      }
      for (const std::string& runtime : all_runtimes) {
        const bool absent = f.err.find(runtime + " is absent") != std::string::npos;
        BOOST_TEST(seen.contains(runtime) != absent, runtime);
      }
    }
  }
}

// With each of `runtimes`, whose tasks check what they read, on this many nodes.
void check_on_nodes(const Arguments& runtimes, const Arguments& patterns,
                    const std::string& nodes) {
  const Workspace workspace;
  for (const std::string& type : patterns) {
    const Finished f = run(workspace, {"--nodes",        nodes,
                                       "--type",         type,
                                       "--width",        "5",
                                       "--steps",        "9",
                                       "--runtime",      joined(runtimes),
                                       "--iterations",   "50",
                                       "--imbalance",    "1",
                                       "--output-bytes", "40",
                                       "--repetitions",  "1",
                                       "--json",         "result.json"});
    BOOST_TEST_CONTEXT(type << ": " << f.err) {
      BOOST_TEST(f.exit_code == 0);
      BOOST_TEST(f.err == "");
      Arguments seen;
      for (const auto& entry : nlohmann::json::parse(workspace.read("result.json"))) {
        seen.push_back(entry.at("runtime").get<std::string>());
        BOOST_TEST(entry.at("type") == type);
        BOOST_TEST(std::to_string(entry.at("nodes").get<int>()) == nodes);
        BOOST_TEST(entry.at("run_ns_per_task").get<double>() > 0);
      }
      BOOST_TEST(seen == runtimes, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(troupe_carries_out_every_pattern_on_several_nodes) {
  check_on_nodes({"troupe-tcp", "troupe-shm"}, all_patterns, "2");
  check_on_nodes({"troupe-tcp", "troupe-shm"}, {"all_to_all"}, "3");
}

BOOST_AUTO_TEST_CASE(open_mpi_carries_out_every_pattern_on_several_nodes,
                     *boost::unit_test::precondition(HasModule("mpi"))) {
  check_on_nodes({"mpi-tcp", "mpi-shm"}, all_patterns, "2");
  check_on_nodes({"mpi-tcp", "mpi-shm"}, {"all_to_all"}, "3");
}

BOOST_AUTO_TEST_CASE(starpu_mpi_carries_out_every_pattern_on_two_nodes,
                     *boost::unit_test::precondition(HasModule("starpu_mpi"))) {
  check_on_nodes({"starpu-mpi-tcp", "starpu-mpi-shm"}, all_patterns, "2");
}

// Its processes take seconds to start.
BOOST_AUTO_TEST_CASE(dask_carries_out_patterns_on_two_nodes,
                     *boost::unit_test::precondition(HasModule("dask"))) {
  check_on_nodes({"dask"}, {"trivial", "stencil_1d", "tree", "all_to_all"}, "2");
}

BOOST_AUTO_TEST_CASE(nodes_that_can_not_be_are_refused) {
  for (const std::string value : {"-1", "0", "1"}) {
    check_refused({"--nodes", value}, {"--nodes is " + value, "from 2 to"});
  }
  check_refused({"--nodes", "3", "--width", "2"}, {"--nodes is 3", "2 columns"});
  check_refused({"--nodes", "2", "--devices", "2"}, {"--nodes", "--devices"});
  check_refused({"--nodes", "2", "--window", "10"}, {"--nodes", "--window"});
}

BOOST_AUTO_TEST_CASE(a_runtime_for_one_process_is_refused_on_several_nodes) {
  check_refused({"--nodes", "2", "--runtime", "tbb"},
                {"tbb does not run on several nodes", "troupe-tcp, troupe-shm, mpi-tcp"});
  check_refused({"--runtime", "troupe-tcp"}, {"troupe-tcp runs on several nodes only", "--nodes"});
}

// Windows that divide the steps, that don't, and that have room for all of them.
BOOST_AUTO_TEST_CASE(every_pattern_runs_in_windows) {
  const Workspace workspace;
  for (const std::string& type : all_patterns) {
    for (const std::string window : {"1", "4", "9", "1000"}) {
      const Finished f =
          run(workspace, {"--type", type, "--width", "6", "--steps", "9", "--window", window,
                          "--devices", "2", "--runtime", "troupe,simulate", "--output-bytes", "40",
                          "--repetitions", "1", "--json", "result.json"});
      BOOST_TEST_CONTEXT(type << " in windows of " << window << ": " << f.err) {
        BOOST_TEST(f.exit_code == 0);
        BOOST_TEST(f.err == "");
        BOOST_TEST(nlohmann::json::parse(workspace.read("result.json")).size() == 2U);
      }
    }
  }
}

// AddressSanitizer keeps what was freed.
boost::test_tools::assertion_result frees_at_once(boost::unit_test::test_unit_id) {
#if defined(TROUPE_SANITIZE_ADDRESS)
  return false;
#else
  return true;
#endif
}

BOOST_AUTO_TEST_CASE(memory_does_not_grow_with_the_tasks_of_a_run_in_windows,
                     *boost::unit_test::precondition(frees_at_once)) {
  const Workspace workspace;
  // Of 64 columns, of 10^5 tasks and of thirty times as many.
  const auto peaks = [&](const std::string& steps) {
    const Finished f =
        run(workspace,
            {"--type", "trivial", "--width", "64", "--steps", steps, "--window", "100", "--devices",
             "2", "--runtime", "troupe,simulate", "--repetitions", "1", "--json", "result.json"});
    BOOST_TEST_REQUIRE(f.exit_code == 0, f.err);
    std::vector<double> bytes;
    for (const auto& entry : nlohmann::json::parse(workspace.read("result.json"))) {
      bytes.push_back(entry.at("peak_bytes").get<double>());
    }
    return bytes;
  };
  const std::vector<double> few = peaks("1563");
  const std::vector<double> many = peaks("46875");
  BOOST_TEST_REQUIRE(few.size() == 2U);
  BOOST_TEST_REQUIRE(many.size() == 2U);
  for (std::size_t runtime = 0; runtime < 2; ++runtime) {
    BOOST_TEST(few[runtime] > 0);
    BOOST_TEST(many[runtime] <= few[runtime] + (12 << 20));
  }
}

BOOST_AUTO_TEST_CASE(a_result_says_what_was_measured) {
  const Workspace workspace;
  const Finished f = run(workspace, {"--width", "4", "--steps", "50", "--devices", "2", "--runtime",
                                     "sequential,troupe", "--json", "result.json"});
  BOOST_TEST(f.exit_code == 0);
  BOOST_TEST(f.err == "");
  BOOST_TEST(f.out.find("sequential") != std::string::npos);
  const nlohmann::json list = nlohmann::json::parse(workspace.read("result.json"));
  BOOST_REQUIRE(list.size() == 2U);
  BOOST_TEST(list[0].at("runtime") == "sequential");
  const nlohmann::json& troupe = list[1];
  BOOST_TEST(troupe.at("runtime") == "troupe");
  BOOST_TEST(troupe.at("type") == "stencil_1d");
  BOOST_TEST(troupe.at("width") == 4);
  BOOST_TEST(troupe.at("steps") == 50);
  BOOST_TEST(troupe.at("devices") == 2);
  for (const char* figure :
       {"build_ns_per_task", "plan_ns_per_task", "run_ns_per_task", "bytes_per_task"}) {
    BOOST_TEST(troupe.at(figure).get<double>() > 0, figure);
  }
  BOOST_TEST(troupe.at("rest_ns_per_task").get<double>() > 0);
  BOOST_TEST(troupe.at("metg_us").is_null());
}

BOOST_AUTO_TEST_CASE(the_metg_of_a_runtime_that_computes_is_found) {
  const Workspace workspace;
  const Finished f = run(workspace, {"--width", "2", "--steps", "50", "--devices", "1", "--runtime",
                                     "troupe,simulate", "--iterations", "20000", "--metg", "0.5",
                                     "--repetitions", "3", "--json", "result.json"});
  BOOST_TEST(f.exit_code == 0);
  const nlohmann::json list = nlohmann::json::parse(workspace.read("result.json"));
  BOOST_REQUIRE(list.size() == 2U);
  BOOST_TEST(list[0].at("metg_us").get<double>() > 0);
  BOOST_TEST(list[1].at("metg_us").is_null());
}

BOOST_AUTO_TEST_CASE(a_signal_that_ends_task_bench_leaves_no_file_behind) {
  for (const int signal : {SIGINT, SIGKILL}) {
    const Workspace workspace;
    Program program({TASK_BENCH_PROGRAM, "--runtime", "sequential", "--repetitions", "1000",
                     "--steps", "100000"},
                    workspace.options());
    const std::filesystem::path folder = workspace.path() / "tmp";
    BOOST_REQUIRE(program.wait_until([&] { return !std::filesystem::is_empty(folder); }));
    program.send(signal);
    BOOST_TEST(program.wait().signal == signal);
    ProgramOptions patient = workspace.options();
    patient.limit = std::chrono::seconds(30);
    Program waiting({"sh", "-c", "while [ -n \"$(ls -A tmp)\" ]; do sleep 0.01; done"}, patient);
    BOOST_TEST(!waiting.wait().timed_out);
  }
}

BOOST_AUTO_TEST_SUITE_END()
