// The command line of task_bench.
#pragma once

#include "bench/task_bench/runtime.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

struct Options {
  Workload workload;
  std::vector<const Runtime*> runtimes;  // to measure
  std::vector<const Runtime*> absent;    // wanted, but not built
  std::string json;                      // path, or empty
  std::optional<double> metg;
  int repetitions = 3;

  std::string help;  // if not empty, print this and do nothing else

  // In a process started by measure_apart(): the path for the result. Else empty.
  std::string report;
};

// Throws CLI::ParseError if the command line can't be parsed, a usage Error if a value is invalid.
Options read_options(int argc, const char* const* argv);

// The command line of a process that measures `runtime` once with this workload.
std::vector<std::string> arguments_for(const Runtime& runtime, const Workload& workload);

}  // namespace troupe::bench
