// What Troupe is compared with: each runtime carries out the same pattern with the same task on as
// many threads, in a file of its own.
#pragma once

#include "core/base/time.hpp"
#include "core/ops/point_task.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::bench {

struct Workload {
  PointTask task;
  std::vector<int> cores;  // one for each device or thread, by OS number
};

// Wall times of one run. A runtime that makes its graph while it runs builds in no time.
struct Times {
  Duration build{0};
  Duration plan{0};
  Duration run{0};
  Duration makespan{
      0};  // part of `run`: from the first task's start to the last one's end, if known
};

// Carries the workload out once and blocks until it is done. Starting threads and taking space for
// outputs ahead of the run isn't timed where the runtime keeps the two apart. Throws a run Error
// where a task fails, e.g. one that reads a wrong payload.
using Measure = Times (*)(const Workload&);

struct Runtime {
  std::string_view name;
  std::string_view summary;
  std::string_view package = {};  // of Debian; empty: always there
  bool computes = true;           // false: it simulates, and tasks do nothing
  bool serial = false;            // one thread, however many devices there are
  Measure measure = nullptr;      // null: the package wasn't there when this program was built
};

// Every runtime, in the order they are measured in.
std::span<const Runtime> runtimes();

// One for each file; those of peers that aren't installed are null.
Measure troupe_runtime();
Measure simulate_runtime();
Measure sequential_runtime();
Measure tbb_runtime();
Measure openmp_runtime();
Measure starpu_runtime();
Measure simgrid_runtime();

}  // namespace troupe::bench
