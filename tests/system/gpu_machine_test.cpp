// What the program says of the GPUs of the host. Runs on the stand-in for the CUDA libraries, whose
// settings are in the environment.
#include "tests/support/workspace.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(gpu_machine)
namespace {

using Environment = std::map<std::string, std::string>;

Finished run_on(Environment stand_in, const Workspace& workspace,
                const std::vector<std::string>& arguments) {
  ProgramOptions options = workspace.options();
  options.environment.merge(stand_in);
  return run_troupe(arguments, options);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

BOOST_AUTO_TEST_CASE(the_machine_it_prints_has_the_gpus_and_runs_on_them) {
  const Workspace workspace;
  const Environment two_gpus{{"TROUPE_STAND_IN_DEVICES", "2"},
                             {"TROUPE_STAND_IN_MEMORY_MIB", "256"}};
  const Finished machine = run_on(two_gpus, workspace, {"machine"});
  BOOST_TEST_INFO(machine.out);
  BOOST_TEST(machine.exit_code == 0);
  BOOST_TEST(machine.err == "");
  BOOST_TEST(contains(machine.out, "# GPU 1: "));
  BOOST_TEST(contains(machine.out, "  gpu1: {kind: gpu, memory: vram1, "));
  BOOST_TEST(contains(machine.out, "  vram0: {size: "));
  BOOST_TEST(contains(machine.out, "  pcie0: {between: [mem0, vram0], "));
  BOOST_TEST(!contains(machine.out, "no GPU"));

  workspace.write("here.yaml", machine.out);
  workspace.write("run.yaml",
                  "machine: here.yaml\n"
                  "tensors:\n"
                  "  x: {op: uniform, shape: [64, 64], on: gpu1}\n"
                  "tasks:\n"
                  "  run:  {op: matmul, in: [x, x], repeat: 4, on: gpu1}\n"
                  "  copy: {op: copy, in: [run], to: mem0}\n");
  const Finished run = run_on(two_gpus, workspace, {"run", "run.yaml"});
  BOOST_TEST_INFO(run.out << run.err);
  BOOST_TEST(run.exit_code == 0);
  BOOST_TEST(contains(run.out, "gpu1"));
}

BOOST_AUTO_TEST_CASE(the_machine_it_prints_says_why_runs_have_no_gpu) {
  const Workspace workspace;
  const std::vector<std::pair<Environment, std::string_view>> cases{
      {{{"TROUPE_STAND_IN_DRIVER_VERSION", "0"}},
       "# runs have no GPU: there is no driver for NVIDIA's GPUs here; install it"},
      {{{"TROUPE_STAND_IN_DRIVER_VERSION", "12040"}},
       "# runs have no GPU: the driver is for CUDA 12.4, and this Troupe needs CUDA 13.0; install"},
      {{{"TROUPE_STAND_IN_DEVICES", "0"}},
       "# runs have no GPU: the driver has no GPU for this process; see what nvidia-smi says"},
  };
  for (const auto& [environment, why] : cases) {
    const Finished machine = run_on(environment, workspace, {"machine"});
    BOOST_TEST_INFO(machine.out << machine.err);
    BOOST_TEST(machine.exit_code == 0);
    BOOST_TEST(contains(machine.out, why));
    BOOST_TEST(!contains(machine.out, "gpu0"));
    workspace.write("here.yaml", machine.out);
    BOOST_TEST(run_on(environment, workspace, {"validate", "here.yaml"}).exit_code == 0);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
