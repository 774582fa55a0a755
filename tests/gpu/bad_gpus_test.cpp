// GPUs that can't be used, through the program: no driver, too old a one, too few GPUs, too little
// memory. One line says what is wrong and what to do, and with which status the program ends.
#include "tests/gpu/gpu_fixture.hpp"
#include "tests/support/contains.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(bad_gpus)
namespace {

using namespace troupe::testing;
using nlohmann::json;

// A CPU and two GPUs. A line of `gpu1` may be added to the second one's.
std::string run_file(const std::string& tasks, const std::string& gpu1 = "",
                     const std::string& vram_size = "64 MiB",
                     const std::string& vram1_size = "64 MiB") {
  return "machine:\n"
         "  devices:\n"
         "    cpu0: {kind: cpu, memory: host}\n"
         "    gpu0: {kind: gpu, memory: vram0, streams: 2}\n"
         "    gpu1: {kind: gpu, memory: vram1" +
         gpu1 +
         "}\n"
         "  memories: {host: {size: 1 GiB}, vram0: {size: " +
         vram_size + "}, vram1: {size: " + vram1_size +
         "}}\n"
         "  links:\n"
         "    pcie0: {between: [host, vram0], bandwidth: 10 GB/s}\n"
         "    pcie1: {between: [host, vram1], bandwidth: 10 GB/s}\n"
         "tasks:\n" +
         tasks;
}

const std::string small_tasks =
    "  x: {op: uniform, shape: [64, 64], on: gpu0}\n"
    "  a: {op: copy, in: x, to: vram1}\n"
    "  b: {op: matmul, in: [a, a], on: gpu1, repeat: 5}\n"
    "scenarios: {all: [x, a, b]}\n";

Finished run(const Workspace& workspace, const std::string& text,
             const std::map<std::string, std::string>& injections,
             const std::vector<std::string>& more = {}) {
  workspace.write("run.yaml", text);
  std::vector<std::string> arguments = {"run", "run.yaml", "--json", "report.json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  ProgramOptions options = workspace.options();
  options.limit = std::chrono::seconds(60);
  options.environment["TROUPE_STAND_IN_DEVICES"] = "2";
  for (const auto& [name, value] : injections) {
    options.environment["TROUPE_STAND_IN_" + name] = value;
  }
  return run_troupe(arguments, options);
}

void check_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    BOOST_TEST(contains(text, word), "\"" << text << "\" has no \"" << word << "\" in it");
  }
}

// Nothing has run: status 2, one line.
void check_refusal(const std::string& text, const std::map<std::string, std::string>& injections,
                   const std::vector<std::string>& words) {
  const Workspace workspace;
  const Finished finished = run(workspace, text, injections);
  BOOST_TEST(finished.exit_code == 2);
  BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
  check_words(finished.err, words);
  BOOST_TEST(!std::filesystem::exists(workspace.path() / "report.json"));
}

// The run has failed: status 1, and what finished is in the report.
void check_failure(const std::string& text, const std::map<std::string, std::string>& injections,
                   const std::vector<std::string>& words) {
  const RunWorkspace workspace;
  const Finished finished = run(workspace, text, injections);
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.exit_code == 1, finished.err);
  BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1, finished.err);
  check_words(finished.err, words);
  const json scenario = workspace.report()["scenarios"].at(0);
  BOOST_TEST(scenario["outcome"] == "failed");
  check_words(scenario["error"], words);
  BOOST_TEST(scenario["planned"].get<int>() > 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_host_without_a_driver_is_said_to_have_none,
                     *boost::unit_test::precondition(on_stand_in)) {
  check_refusal(run_file(small_tasks), {{"DRIVER_VERSION", "0"}},
                {"run.yaml:4:5: gpu0 is a GPU", "there is no driver for NVIDIA's GPUs here",
                 "troupe simulate", "--map gpu0=cpu0"});
}

BOOST_AUTO_TEST_CASE(a_driver_that_is_too_old_is_named_with_the_version_that_is_needed,
                     *boost::unit_test::precondition(on_stand_in)) {
  check_refusal(run_file(small_tasks), {{"DRIVER_VERSION", "12040"}},
                {"gpu0 is a GPU", "the driver is for CUDA 12.4, and this Troupe needs CUDA 13.0"});
}

BOOST_AUTO_TEST_CASE(a_host_without_a_gpu_is_said_to_have_none,
                     *boost::unit_test::precondition(on_stand_in)) {
  check_refusal(run_file(small_tasks), {{"DEVICES", "0"}},
                {"gpu0 is a GPU", "the driver has no GPU for this process"});
}

BOOST_AUTO_TEST_CASE(more_gpus_than_the_host_has_are_refused,
                     *boost::unit_test::precondition(on_stand_in)) {
  check_refusal(run_file(small_tasks), {{"DEVICES", "1"}},
                {"run.yaml:5:5: gpu1 is a GPU", "this machine has only one", "--map gpu1=cpu0"});
  check_refusal(run_file(small_tasks, ", gpu: 5"), {},
                {"gpu1 is a GPU", "this machine has no GPU 5: they are 0 to 1"});
}

BOOST_AUTO_TEST_CASE(a_gpu_without_a_memory_of_its_own_is_refused,
                     *boost::unit_test::precondition(has_gpu)) {
  check_refusal(
      "machine:\n"
      "  devices:\n"
      "    cpu0: {kind: cpu, memory: host}\n"
      "    gpu0: {kind: gpu, memory: host}\n"
      "  memories: {host: {size: 1 GiB}}\n"
      "tasks:\n"
      "  x: {op: uniform, shape: [64, 64], on: gpu0}\n"
      "scenarios: {all: [x]}\n",
      {}, {"run.yaml:4:5: gpu0 is a GPU", "its memory host is the host's"});
}

BOOST_AUTO_TEST_CASE(a_cpu_stands_in_for_a_gpu_that_is_not_there,
                     *boost::unit_test::precondition(on_stand_in)) {
  const RunWorkspace workspace;
  const Finished finished = run(workspace, run_file(small_tasks), {{"DRIVER_VERSION", "0"}},
                                {"--map", "gpu0=cpu0", "--map", "gpu1=cpu0"});
  BOOST_TEST(finished.exit_code == 0, finished.err);
}

BOOST_AUTO_TEST_CASE(two_devices_may_be_one_gpu, *boost::unit_test::precondition(has_gpu)) {
  const RunWorkspace workspace;
  const Finished finished = run(workspace, run_file(small_tasks, ", gpu: 0"), {{"DEVICES", "1"}});
  BOOST_TEST(finished.exit_code == 0, finished.err);
  BOOST_TEST(finished.err == "");
  check_words(finished.out, {"Note: gpu0 and gpu1 are the same GPU (number 0, "});
  const json report = workspace.report();
  BOOST_TEST(report["scenarios"].at(0)["verified"] == true);
  check_words(report["notes"].dump(), {"gpu0 and gpu1 are the same GPU (number 0, "});
}

BOOST_AUTO_TEST_CASE(two_gpus_are_not_said_to_be_one,
                     *boost::unit_test::precondition(has_two_gpus)) {
  const RunWorkspace workspace;
  const Finished finished = run(workspace, run_file(small_tasks), {});
  BOOST_TEST(finished.exit_code == 0, finished.err);
  BOOST_TEST(!contains(finished.out, "same GPU"));
}

// 656 MiB, of which two devices with 3 streams leave 176 MiB for tensors; each x has 80 MiB.
BOOST_AUTO_TEST_CASE(memories_of_one_gpu_can_not_take_more_than_it_has_free_together,
                     *boost::unit_test::precondition(on_stand_in)) {
  const std::string tasks =
      "  x0: {op: uniform, shape: [5, 1024, 1024], on: gpu0, repeat: 4}\n"
      "  x1: {op: uniform, shape: [5, 1024, 1024], on: gpu1, repeat: 4}\n"
      "scenarios: {all: [x0, x1]}\n";
  const std::map<std::string, std::string> one_small_gpu{{"DEVICES", "1"}, {"MEMORY_MIB", "656"}};
  const RunWorkspace workspace;
  const Finished fits =
      run(workspace, run_file(tasks, ", gpu: 0", "88 MiB", "85 MiB"), one_small_gpu);
  BOOST_TEST(fits.exit_code == 0, fits.err);
  check_refusal(run_file(tasks, ", gpu: 0", "1 TiB", "1 GiB"), one_small_gpu,
                {"'x1[0]' on gpu1 needs 20 MiB in vram1",
                 "vram0 and vram1 share 176 MiB that are free on GPU 0"});
  check_refusal(run_file(tasks, ", gpu: 0", "88 MiB", "79 MiB"), one_small_gpu,
                {"of its 79 MiB are available"});
}

// 7 tensors of 20 MiB, then 4 of 36: each kind fits into 160 MiB, both don't, nor into what the
// libraries leave of the GPU.
BOOST_AUTO_TEST_CASE(tensors_that_are_gone_make_way_for_those_of_another_size,
                     *boost::unit_test::precondition(on_stand_in)) {
  const std::string tasks =
      "  a: {op: uniform, shape: [5, 1024, 1024], on: gpu0, repeat: 7}\n"
      "  ma: {op: max, in: [a], axis: 1, on: gpu0}\n"
      "  b: {op: uniform, shape: [9, 1024, 1024], on: gpu0, repeat: 4}\n"
      "  mb: {op: max, in: [b], axis: 1, on: gpu0}\n";
  for (const char* const scenarios :
       {"scenarios: {all: [a, ma, wait, b, mb]}\n", "scenarios: {one: [a, ma], two: [b, mb]}\n"}) {
    const RunWorkspace workspace;
    const Finished fits =
        run(workspace, run_file(tasks + scenarios, "", "160 MiB"), {{"MEMORY_MIB", "448"}});
    BOOST_TEST(fits.exit_code == 0, fits.err << fits.out);
  }
}

BOOST_AUTO_TEST_CASE(a_plan_that_can_not_fit_a_gpu_is_refused_first,
                     *boost::unit_test::precondition(has_two_gpus)) {
  check_refusal(run_file("  x: {op: uniform, shape: [3000, 3000], on: gpu0}\n"
                         "  y: {op: relu, in: x, on: gpu0}\n"
                         "scenarios: {all: [x, y]}\n"),
                {}, {"vram0", "64 MiB"});
}

// The file says 1 TiB, which no GPU has.
BOOST_AUTO_TEST_CASE(a_gpu_with_less_memory_than_the_file_says_refuses_what_it_can_not_hold,
                     *boost::unit_test::precondition(on_stand_in)) {
  const std::string tasks =
      "  x: {op: uniform, shape: [4000, 4000], on: gpu0, repeat: 5}\n"
      "scenarios: {all: [x]}\n";
  check_refusal(run_file(tasks, "", "1 TiB"), {{"MEMORY_MIB", "360"}},
                {"vram0", "of its 72 MiB", "(what is free on GPU 0)"});
}

BOOST_AUTO_TEST_CASE(memory_that_ends_in_a_run_is_said_to,
                     *boost::unit_test::precondition(on_stand_in)) {
  int failed = 0;
  for (int n = 37; n <= 45; ++n) {  // handles and workspaces, some of which are tried again
    const RunWorkspace workspace;
    const Finished finished =
        run(workspace, run_file(small_tasks),
            {{"OUT_OF_MEMORY_AT", std::to_string(n)}, {"OUT_OF_MEMORY_FOR", "2"}});
    if (finished.exit_code == 0) continue;
    ++failed;
    BOOST_TEST(finished.exit_code == 1, finished.err);
    check_words(finished.err, {"gpu", "end other processes that use the GPU"});
    const json scenario = workspace.report()["scenarios"].at(0);
    BOOST_TEST(scenario["outcome"] == "failed");
    check_words(scenario["error"], {"gpu", "end other processes that use the GPU"});
  }
  BOOST_TEST(failed > 0);
}

BOOST_AUTO_TEST_CASE(a_fault_of_a_kernel_ends_the_run_with_its_op,
                     *boost::unit_test::precondition(on_stand_in)) {
  // The first two are those with which the GPUs are warmed up.
  check_failure(run_file(small_tasks), {{"KERNEL_FAULT_AT", "3"}},
                {"'x' ", "illegal memory access", "compute-sanitizer"});
}

BOOST_AUTO_TEST_CASE(a_fault_before_the_clock_starts_ends_the_run_with_the_kind_of_its_op,
                     *boost::unit_test::precondition(on_stand_in)) {
  const Workspace workspace;
  const Finished finished = run(workspace, run_file(small_tasks), {{"KERNEL_FAULT_AT", "1"}});
  BOOST_TEST(!finished.timed_out);
  BOOST_TEST(finished.exit_code == 2, finished.err);  // nothing has run
  BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1, finished.err);
  check_words(finished.err,
              {"GPU 0 can't compute 'uniform'", "illegal memory access", "compute-sanitizer"});
}

BOOST_AUTO_TEST_CASE(a_gpu_that_troupe_was_not_built_for_is_said_to_be,
                     *boost::unit_test::precondition(on_stand_in)) {
  check_refusal(run_file(small_tasks), {{"NO_KERNEL_IMAGE", "2"}},
                {"run.yaml:5:5: gpu1 is GPU 1", "no kernels for that", "no kernel image",
                 "CMAKE_CUDA_ARCHITECTURES=native"});
}

BOOST_AUTO_TEST_SUITE_END()
