// What tests of GPUs on nodes have in common. Each process has a stand-in for the CUDA libraries of
// its own, with settings of its own.
#pragma once

#include "tests/support/contains.hpp"
#include "tests/support/node_process.hpp"
#include "tests/support/run_workspace.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

namespace troupe::testing {

using Environment = std::map<std::string, std::string>;
using Words = std::vector<std::string>;

inline const Environment no_gpu{{"TROUPE_STAND_IN_DEVICES", "0"}};
inline const std::string no_gpu_reason = "the driver has no GPU for this process";
inline const std::string with_gpus = "machine: {discover: {gpus: true}}\n";
inline const std::string anything = "tasks: {x: {op: uniform, shape: [4, 4]}}\n";

inline Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A folder with a run file, and what runs there.
class GpuFiles : public RunWorkspace {
 public:
  explicit GpuFiles(const std::string& text) { write("run.yaml", text); }

  Finished on(Environment environment, const Words& arguments) const {
    ProgramOptions options = options_in(*this);
    options.environment.merge(environment);
    return run_troupe(arguments, options);
  }
  // The leader has no GPU.
  Finished run_on(const std::string& nodes, const Words& more = {}) const {
    return on(no_gpu, joined({"run", "run.yaml", "--json", "report.json", "--nodes", nodes}, more));
  }
  void check_verified(const Finished& finished) const {
    BOOST_TEST_INFO(finished.out << finished.err);
    BOOST_REQUIRE(finished.exit_code == 0);
    const nlohmann::json made = report();
    for (const nlohmann::json& scenario : made["scenarios"])
      BOOST_TEST(scenario["verified"] == true);
  }
  // Status 2, one line with these words, and nothing has run.
  void check_refused(const Finished& finished, const Words& words) const {
    BOOST_TEST_INFO(finished.out << finished.err);
    BOOST_TEST(finished.exit_code == 2);
    BOOST_TEST(std::count(finished.err.begin(), finished.err.end(), '\n') == 1);
    for (const std::string& word : words) {
      BOOST_TEST(contains(finished.err, word), "no \"" << word << "\" in " << finished.err);
    }
    BOOST_TEST(!std::filesystem::exists(path() / "report.json"));
  }
};

// A node with settings of the stand-in: "DEVICES=2".
class GpuNode : public NodeProcess {
 public:
  GpuNode(const Workspace& workspace, const Words& settings, const Words& options = {},
          const std::string& listen = "127.0.0.1:0")
      : NodeProcess(workspace, environment(settings), listen, options) {}

 private:
  static Words environment(const Words& settings) {
    Words words = {"env"};
    for (const std::string& setting : settings) words.push_back("TROUPE_STAND_IN_" + setting);
    return words;
  }
};

// Has the loader write down which libraries a process loads.
inline Environment recording(const Workspace& workspace) {
  return {{"LD_DEBUG", "files"}, {"LD_DEBUG_OUTPUT", (workspace.path() / "loaded").string()}};
}
inline bool has_loaded_cuda(const Workspace& workspace) {
  bool has_recorded = false;
  bool has_cuda = false;
  for (const auto& entry : std::filesystem::directory_iterator(workspace.path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("loaded.")) continue;
    has_recorded = true;
    has_cuda = has_cuda || contains(workspace.read(name), "libtroupe_cuda.so");
    std::filesystem::remove(entry.path());
  }
  BOOST_TEST(has_recorded);
  return has_cuda;
}

inline bool has_worked(const nlohmann::json& report, const std::string& name) {
  const nlohmann::json& rows = report["scenarios"].at(0)["resources"];
  return std::any_of(rows.begin(), rows.end(), [&](const nlohmann::json& row) {
    return row["name"] == name && row["busy_s"].get<double>() > 0;
  });
}

}  // namespace troupe::testing
