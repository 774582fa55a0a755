// task_bench: Troupe beside its peers on the patterns of Task Bench (Slaughter et al., SC 2020).
//
// Each measurement runs in its own process. Repetitions are interleaved (each runtime once, then
// each again), so that a disturbance of the machine affects all runtimes alike. Medians are shown.
#include "bench/task_bench/metg.hpp"
#include "bench/task_bench/options.hpp"
#include "bench/task_bench/peer_home.hpp"
#include "bench/task_bench/process.hpp"
#include "bench/task_bench/results.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"

#include <cstdio>
#include <exception>
#include <fstream>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

// Exit codes: 0 done, 1 a runtime failed, 2 bad usage.
enum ExitCode : int { exit_done = 0, exit_failed = 1, exit_usage = 2 };

// Measures once. Prints a message and returns nullopt if the runtime fails.
std::optional<Measurement> try_to_measure(const Runtime& runtime, const Workload& workload) {
  auto m = measure_apart(runtime, workload, arguments_for(runtime, workload));
  if (!m) fmt::print(stderr, "task_bench: {} failed\n", runtime.name);
  return m;
}

// Measures each runtime `repetitions` times, in turns. A runtime that fails gets no more turns and
// an empty list.
std::vector<std::vector<Measurement>> measure_in_turns(std::span<const Runtime* const> runtimes,
                                                       const Workload& workload, int repetitions) {
  std::vector<std::vector<Measurement>> all(runtimes.size());
  std::vector<bool> failed(runtimes.size(), false);
  for (int n = 0; n < repetitions; ++n) {
    for (std::size_t r = 0; r < runtimes.size(); ++r) {
      if (failed[r]) continue;
      if (const auto m = try_to_measure(*runtimes[r], workload)) {
        all[r].push_back(*m);
        continue;
      }
      failed[r] = true;
      all[r].clear();
    }
  }
  return all;
}

// Sets metg_s of each result whose runtime computes.
void add_metg(const Options& options, std::span<const Runtime* const> measured,
              std::span<Result> results) {
  std::vector<const Runtime*> runtimes;
  std::vector<Result*> targets;
  for (std::size_t r = 0; r < measured.size(); ++r) {
    if (!measured[r]->computes) continue;
    runtimes.push_back(measured[r]);
    targets.push_back(&results[r]);
  }
  std::vector<bool> failed(runtimes.size(), false);
  const auto measure = [&](std::size_t r, std::int64_t iterations) {
    Workload workload = options.workload;
    workload.task.iterations = iterations;
    Rate rate{.cores = runtimes[r]->serial ? 1 : workload.cores.size()};
    if (failed[r]) return rate;
    if (const auto m = try_to_measure(*runtimes[r], workload)) {
      const Result result = summarize(*runtimes[r], workload.task, {&*m, 1});
      rate.granularity_s = result.run_s * static_cast<double>(rate.cores) /
                           static_cast<double>(workload.task.pattern.points());
      rate.flops_per_s = result.flops_per_s;
    } else {
      failed[r] = true;
    }
    return rate;
  };
  const auto metg = find_metg(runtimes.size(), options.workload.task.iterations, *options.metg,
                              options.repetitions, measure);
  for (std::size_t r = 0; r < metg.size(); ++r) {
    targets[r]->metg_s = metg[r];
    if (!metg[r]) {
      fmt::print(stderr,
                 "task_bench: {} has no METG within these sizes; begin with more "
                 "--iterations\n",
                 runtimes[r]->name);
    }
  }
}

int compare(const Options& options) {
  for (const Runtime* r : options.absent) {
    fmt::print(stderr, "task_bench: {} is absent: install {} and build again\n", r->name,
               r->package);
  }
  if (options.runtimes.empty()) {
    throw usage_error("none of these runtimes is there", "add troupe, which always is");
  }
  std::ofstream json;
  if (!options.json.empty()) {
    json.open(options.json);
    if (!json) {
      throw usage_error(fmt::format("'{}' can't be written", options.json),
                        "give --json another path");
    }
  }
  const PeerHome home;
  const PointTask& task = options.workload.task;
  const auto all = measure_in_turns(options.runtimes, options.workload, options.repetitions);
  std::vector<const Runtime*> measured;
  std::vector<Result> results;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].empty()) continue;
    measured.push_back(options.runtimes[r]);
    results.push_back(summarize(*options.runtimes[r], task, all[r]));
  }
  if (results.empty()) return exit_failed;
  if (options.metg) add_metg(options, measured, results);

  const Pattern& pattern = task.pattern;
  fmt::print(
      "{}: {}, {}, {} on {}; medians of {}\n", info(pattern.dependence).name,
      format_count(pattern.width, "column"), format_count(pattern.steps, "step"),
      format_count(pattern.points(), "task"),
      format_count(options.workload.cores.size(), options.workload.on_nodes ? "node" : "device"),
      options.repetitions);
  fmt::print("{}", table(task, results, options.metg.has_value()));
  if (json.is_open()) {
    write_json(options.workload, options.repetitions, results, json);
    if (!json.flush()) throw run_error(fmt::format("'{}' could not be written", options.json));
  }
  return results.size() == options.runtimes.size() ? exit_done : exit_failed;
}

int run(int argc, const char* const* argv) {
  const Options options = read_options(argc, argv);
  if (!options.help.empty()) {
    fmt::print("{}", options.help);
    return exit_done;
  }
  if (options.report.empty()) return compare(options);
  send_result(measure_here(*options.runtimes.at(0), options.workload), options.report);
  return exit_done;
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  using namespace troupe::bench;
  try {
    return run(argc, argv);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "task_bench: {}; 'task_bench --help' lists the options\n", error.what());
    return exit_usage;
  } catch (const troupe::Error& error) {
    fmt::print(stderr, "task_bench: {}\n", error.what());
    return error.kind() == troupe::ErrorKind::usage ? exit_usage : exit_failed;
  } catch (const std::exception& error) {
    fmt::print(stderr, "task_bench: {}\n", error.what());
    return exit_failed;
  }
}
