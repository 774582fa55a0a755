// What Troupe is compared with: each runtime carries out the same pattern with the same task on as
// many threads, in a file of its own.
#pragma once

#include "core/base/time.hpp"
#include "core/patterns/point_task.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::bench {

struct Workload {
  PointTask task;
  // Troupe appends so many rows at a time while earlier ones run; 0: it builds all of the graph
  // first.
  std::uint32_t window = 0;
  std::vector<int> cores;  // one for each device or thread, by OS number
};

// Wall times of one run. A runtime that makes its graph while it runs builds in no time.
struct Times {
  Duration build{0};
  Duration plan{0};
  Duration run{0};
  Duration rest{0};  // around it: threads, space for outputs, reports, where they are timed
};

// Carries the workload out once and blocks until it is done. Starting threads and taking space for
// outputs ahead of the run isn't timed where the runtime keeps the two apart. Throws a run Error
// where a task fails, e.g. one that reads a wrong payload.
using Measure = Times (*)(const Workload&);

struct Runtime {
  std::string_view name;
  std::string_view summary;
  std::string_view package = {};  // of Debian, for a peer; empty: part of this program
  bool computes = true;           // false: it simulates, and tasks do nothing
  bool serial = false;            // one thread, however many devices there are
  Measure measure = nullptr;      // null: in the module of its name
};

// Every runtime, in the order they are measured in.
std::span<const Runtime> runtimes();

// Whether its module was built: its package was there then.
bool is_there(const Runtime& runtime);
// Loads the module of a peer. Throws a run Error where that fails.
Measure load_measure(const Runtime& runtime);

Measure troupe_runtime();
Measure simulate_runtime();
Measure sequential_runtime();

}  // namespace troupe::bench

// What a peer's module exports: its Measure.
extern "C" troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload);
