// The files in config/, which users copy: each loads, and says what the issue of its experiment
// says.
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "tests/unit/config/temporary_files.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <yaml-cpp/yaml.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(shipped_files)
namespace {

const std::filesystem::path config = std::filesystem::path(TROUPE_SOURCE_DIR) / "config";

RunFile run_file(const std::string& name) {
  return load_run_file(config / "runs" / (name + ".yaml"));
}

UsableGpus one_gpu() {
  constexpr std::uint64_t bytes = 1 << 30;
  return {.gpus = {{.model = "GPU", .memory_bytes = bytes, .available_memory_bytes = bytes}}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_machine_file_loads) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config / "machines")) {
    BOOST_TEST_CONTEXT(entry.path()) {
      const Machine machine = load_machine_file(entry.path(), pattern_ops(), one_gpu);
      BOOST_TEST(!machine.devices.empty());
      BOOST_TEST(machine.name == entry.path().stem().string());
      ++count;
    }
  }
  BOOST_TEST(count >= 7);
}

BOOST_AUTO_TEST_CASE(the_first_machine_of_the_documentation_is_one) {
  std::ifstream in(TROUPE_SOURCE_DIR "/docs/machine_files.md");
  const std::string page(std::istreambuf_iterator<char>(in), {});
  const std::string fence = "```yaml\n";
  const std::size_t begin = page.find(fence) + fence.size();
  const TemporaryFiles files;
  const Machine machine = load_machine_file(
      files.write("one.yaml", page.substr(begin, page.find("```", begin) - begin)));
  BOOST_TEST(machine.name == "one-gpu");
  BOOST_TEST(machine.devices.size() == 2U);
}

BOOST_AUTO_TEST_CASE(every_run_file_loads_and_says_what_it_is_about) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(config / "runs")) {
    BOOST_TEST_CONTEXT(entry.path()) {
      const RunFile run = load_run_file(entry.path());
      BOOST_TEST(run.graph.size() > 0U);
      BOOST_TEST(!run.title.empty());
      ++count;
    }
  }
  BOOST_TEST(count >= 7);
}

BOOST_AUTO_TEST_CASE(the_manifests_of_kubernetes_fit_together) {
  const std::filesystem::path folder = config / "kubernetes";
  const std::vector<YAML::Node> nodes = YAML::LoadAllFromFile(folder / "nodes.yaml");
  const std::vector<YAML::Node> run = YAML::LoadAllFromFile(folder / "run.yaml");
  BOOST_REQUIRE((nodes.size() == 2U && run.size() == 2U));
  BOOST_TEST(nodes[0]["kind"].as<std::string>() == "Service");
  BOOST_TEST(nodes[1]["kind"].as<std::string>() == "StatefulSet");
  BOOST_TEST(run[0]["kind"].as<std::string>() == "ConfigMap");
  BOOST_TEST(run[1]["kind"].as<std::string>() == "Job");
  const std::string service = nodes[0]["metadata"]["name"].as<std::string>();
  const YAML::Node set = nodes[1]["spec"];
  BOOST_TEST(set["serviceName"].as<std::string>() == service);
  BOOST_TEST(set["template"]["metadata"]["labels"]["app"].as<std::string>() ==
             nodes[0]["spec"]["selector"]["app"].as<std::string>());
  std::string addresses;
  for (int n = 0; n < set["replicas"].as<int>(); ++n) {
    const std::string pod =
        nodes[1]["metadata"]["name"].as<std::string>() + "-" + std::to_string(n);
    addresses += (n == 0 ? "" : ",") + pod + "." + service + ":7420";
  }
  const YAML::Node leader = run[1]["spec"]["template"]["spec"]["containers"][0];
  const auto words = leader["command"].as<std::vector<std::string>>();
  BOOST_TEST((std::find(words.begin(), words.end(), addresses) != words.end()));

  BOOST_TEST(run_error_of(run[0]["data"]["run.yaml"].as<std::string>()) == "");
}

BOOST_AUTO_TEST_CASE(the_quickstart_has_a_serial_and_a_pipelined_scenario_of_each_sort) {
  const RunFile run = run_file("quickstart");
  BOOST_TEST(run.machine.devices.size() == 2U);
  BOOST_TEST(run.scenarios.size() == 7U);
  // For n equal steps a pipeline reaches n / (n + 1) of the bound where both steps cost the same.
  BOOST_TEST(run.graph.group(run.graph.find_group("run0")).count >= 24U);
}

BOOST_AUTO_TEST_CASE(the_stencil_has_640000_ops_on_two_devices) {
  const RunFile run = run_file("stencil-1d");
  BOOST_TEST(run.graph.size() == 640'000U);
  BOOST_TEST(run.machine.devices.size() == 2U);
  BOOST_TEST(run.graph.inputs(OpId::at(33)).size() == 3U);
}

// The published times follow from the machine files' figures, here without launch and latency.
BOOST_AUTO_TEST_CASE(the_rates_of_the_chapter_files_give_the_published_times) {
  const auto matmul_time = [](const Machine& machine, std::string_view device, double count,
                              double n) {
    return count * 2 * n * n * n /
           machine.device(machine.find_device(device)).op_flops.at("matmul");
  };
  const Machine one = run_file("chapter-1-cpu-gpu").machine;
  BOOST_TEST(matmul_time(one, "cpu", 10, 2000) == 0.3139, boost::test_tools::tolerance(0.005));
  BOOST_TEST(matmul_time(one, "gpu", 10, 6000) == 0.2995, boost::test_tools::tolerance(0.005));
  const Machine two = run_file("chapter-2-gpu-gpu").machine;
  BOOST_TEST(matmul_time(two, "gpu1", 50, 4000) == 0.2816, boost::test_tools::tolerance(0.005));
  BOOST_TEST(matmul_time(two, "gpu2", 50, 4000) == 0.2788, boost::test_tools::tolerance(0.005));
  const Machine a = run_file("chapter-3a-run-and-copy").machine;
  BOOST_TEST(matmul_time(a, "gpu", 10, 6000) == 0.3089, boost::test_tools::tolerance(0.005));
  BOOST_TEST(10 * 6000.0 * 6000 * 4 / a.links[0].bandwidth[1] == 0.9983,
             boost::test_tools::tolerance(0.005));
  const Machine b = run_file("chapter-3b-run-and-copy").machine;
  BOOST_TEST(
      matmul_time(b, "gpu", 50, 4000) + 50 * 4000.0 * 4000 * 4 / b.links[0].bandwidth[1] == 1.4409,
      boost::test_tools::tolerance(0.005));
}

BOOST_AUTO_TEST_SUITE_END()
