// gpu_overlap: what GPUs and the copies to and from them do at once, beside plain loops of CUDA and
// cuBLAS. Rounds of all parts of an experiment take turns; medians are shown. Exit code 2 if there
// is no GPU, 1 if an experiment failed.
#include "bench/overlap/bare.hpp"
#include "bench/overlap/experiments.hpp"
#include "bench/overlap/results.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
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
  bool json = false;
  std::vector<std::string> only;
};

int perform(const Options& options) {
  if (const std::string problem = cuda_problem(); !problem.empty()) {
    fmt::print(stderr, "gpu_overlap: no GPU: {}\n", problem);
    return 2;
  }
  const Bare& bare = load_bare();
  const std::vector<CudaGpu> gpus = cuda_gpus();
  const Host host = describe_host(gpus, bare);
  if (!options.json) fmt::print("{}", host_text(host));
  std::vector<ExperimentResult> results;
  for (const Experiment& experiment : experiments(gpus, options.sizes, bare)) {
    const auto& only = options.only;
    if (!only.empty() && std::find(only.begin(), only.end(), experiment.name) == only.end()) {
      continue;
    }
    results.push_back(measure(experiment, options.rounds));
    if (options.json) continue;
    fmt::print("{}", result_text(results.back()));
    std::fflush(stdout);
  }
  if (options.json) {
    fmt::print("{}", results_json(host, options.sizes.name, options.rounds, results));
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
  CLI::Option* const large_flag = app.add_flag("--large", large, "larger sizes, for large GPUs");
  app.add_flag("--quick", quick, "sizes so small that the figures mean nothing")
      ->excludes(large_flag);
  app.add_flag("--json", options.json, "print one JSON object instead of text");
  app.add_option("--rounds", options.rounds, "samples of each part; medians are shown")
      ->check(CLI::Range(1, 1000));
  app.add_option("--only", options.only, "the experiments to run, by name")
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
