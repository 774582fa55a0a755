// The command line of task_bench.
#pragma once

#include "bench/task_bench/runtime.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

struct Options {
  Workload workload;
  std::vector<const Runtime*> runtimes;  // those that are there
  std::vector<const Runtime*> absent;
  std::string json;  // path, or empty
  std::optional<double> metg;
  int repetitions = 3;

  std::string help;  // not empty: that is all that is asked for

  // Of a process that measures one runtime once for another: where the result goes.
  std::optional<int> report_fd;
};

// Throws a usage Error for what can't be; CLI::ParseError for what isn't a command line.
Options read_options(int argc, const char* const* argv);

// The command line that has a process of its own measure `runtime` once with this workload.
std::vector<std::string> arguments_for(const Runtime& runtime, const Workload& workload);

}  // namespace troupe::bench
