// gpu_overlap: what GPUs and the copies to and from them do at once, beside plain loops of CUDA and
// cuBLAS. Rounds of all parts of an experiment take turns; medians are shown. Exit code 2 if there
// is no GPU, one that can't be used, or an option is wrong, 1 if an experiment failed.
#include "bench/overlap/bare.hpp"
#include "bench/overlap/experiments.hpp"
#include "bench/overlap/results.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct Options {
  Sizes sizes = chapter_sizes;
  int rounds = 5;
  std::string json;  // a path; empty: none
  std::vector<std::string> only;
};

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  if (!file.flush()) throw run_error(fmt::format("'{}' can't be written", path));
}

int perform(const Options& options) {
  if (const std::string problem = cuda_problem(); !problem.empty()) {
    fmt::print(stderr, "gpu_overlap: no GPU: {}\n", problem);
    return 2;
  }
  const std::vector<CudaGpu> gpus = cuda_gpus();
  for (const CudaGpu& gpu : gpus) {
    if (gpu.problem.empty()) continue;
    fmt::print(stderr, "gpu_overlap: {}: {}; hide it: CUDA_VISIBLE_DEVICES\n", name_of(gpu),
               gpu.problem);
    return 2;
  }
  const Bare& bare = load_bare();
  const Host host = describe_host(gpus, bare);
  fmt::print("{}", host_text(host));
  std::vector<ExperimentResult> results;
  for (const Experiment& experiment : experiments(gpus, options.sizes, bare)) {
    const auto& only = options.only;
    if (!only.empty() && std::find(only.begin(), only.end(), experiment.name) == only.end()) {
      continue;
    }
    results.push_back(measure(experiment, options.rounds));
    fmt::print("{}", result_text(results.back()));
    std::fflush(stdout);
    // After each experiment: the next one may end the process.
    if (!options.json.empty()) {
      write(options.json, results_json(host, options.sizes.name, options.rounds, results));
    }
  }
  const bool failed = std::any_of(results.begin(), results.end(),
                                  [](const ExperimentResult& r) { return !r.problem.empty(); });
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bool large = false;
  bool quick = false;
  CLI::App app("Measures computing beside copying on the GPUs of this host.");
  CLI::Option* const large_flag = app.add_flag("--large", large, "Larger sizes, for large GPUs");
  app.add_flag("--quick", quick, "Sizes so small that the figures mean nothing")
      ->excludes(large_flag);
  app.add_option("--json", options.json, "Write the results as JSON to this path");
  app.add_option("--rounds", options.rounds, "Samples of each part; medians are shown")
      ->check(CLI::Range(1, 1000));
  app.add_option("--only", options.only, "The experiments to run, by name")
      ->delimiter(',')
      ->check(CLI::IsMember({"1", "2", "2-shared", "3a", "3b", "copies", "small", "training"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (large) options.sizes = large_sizes;
  if (quick) options.sizes = quick_sizes;
  try {
    return perform(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_overlap: {}\n", error.what());
    return 1;
  }
}
