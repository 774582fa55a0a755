// The results of task_bench as a table and as JSON.
#pragma once

#include "bench/task_bench/process.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe::bench {

// The medians over the repetitions of one runtime.
struct Result {
  std::string_view runtime;
  double build_s = 0;
  double plan_s = 0;
  double run_s = 0;
  double rest_s = 0;
  double peak_bytes = 0;
  double flops_per_s = 0;  // 0: tasks compute nothing
  std::optional<double> metg_s = {};
};

Result summarize(const Runtime& runtime, const PointTask& task,
                 std::span<const Measurement> measurements);

std::string table(const PointTask& task, std::span<const Result> results, bool with_metg);

// Writes a list with an object per runtime: runtime, type, width, steps, window (rows appended at a
// time, 0: all), devices (or nodes), kernel, iterations, bytes, output_bytes, tasks, repetitions;
// build_ns_per_task, plan_ns_per_task, run_ns_per_task, tasks_per_s, bytes_per_task and peak_bytes
// (peak memory); rest_ns_per_task; flops_per_s and metg_us, null if there is none.
void write_json(const Workload& workload, int repetitions, std::span<const Result> results,
                std::ostream& out);

}  // namespace troupe::bench
