#include "bench/task_bench/results.hpp"

#include "bench/median.hpp"
#include "core/base/units.hpp"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace troupe::bench {
namespace {

std::string or_dash(bool known, const std::string& text) {
  return known ? text : "–";
}

}  // namespace

Result summarize(const Runtime& runtime, const PointTask& task,
                 std::span<const Measurement> measurements) {
  const auto median_of = [&](auto value) {
    std::vector<double> values;
    for (const Measurement& m : measurements) values.push_back(value(m));
    return median(std::move(values));
  };
  Result r{.runtime = runtime.name};
  r.build_s = median_of([](const Measurement& m) { return seconds(m.times.build); });
  r.plan_s = median_of([](const Measurement& m) { return seconds(m.times.plan); });
  r.run_s = median_of([](const Measurement& m) { return seconds(m.times.run); });
  r.rest_s = median_of([](const Measurement& m) { return seconds(m.times.rest); });
  r.peak_bytes = median_of([](const Measurement& m) { return static_cast<double>(m.peak_bytes); });
  if (runtime.computes && r.run_s > 0) {
    r.flops_per_s = task.mean_flops() * static_cast<double>(task.pattern.points()) / r.run_s;
  }
  return r;
}

std::string table(const PointTask& task, std::span<const Result> results, bool with_metg) {
  const auto tasks = static_cast<double>(task.pattern.points());
  // fmt counts columns: the dash is one column, though three bytes.
  std::string text =
      fmt::format("{:<16}{:>10}{:>10}{:>12}{:>10}{:>14}{:>10}{:>10}{:>16}", "", "build", "plan",
                  "run", "rest", "tasks/s", "bytes", "peak", "FLOP/s");
  if (with_metg) text += fmt::format("{:>12}", "METG");
  text += fmt::format("\n{:<16}{:>10}{:>10}{:>12}{:>10}{:>14}{:>10}{:>10}{:>16}", "", "ns/task",
                      "ns/task", "ns/task", "ns/task", "", "per task", "MiB", "");
  if (with_metg) text += fmt::format("{:>12}", "us");
  text += "\n";
  for (const Result& r : results) {
    const auto per_task_ns = [&](double s) { return fmt::format("{:.1f}", s * 1e9 / tasks); };
    text += fmt::format("{:<16}{:>10}{:>10}{:>12}{:>10}{:>14.0f}{:>10}{:>10}{:>16}", r.runtime,
                        per_task_ns(r.build_s), per_task_ns(r.plan_s), per_task_ns(r.run_s),
                        per_task_ns(r.rest_s), r.run_s > 0 ? tasks / r.run_s : 0,
                        or_dash(r.peak_bytes > 0, fmt::format("{:.0f}", r.peak_bytes / tasks)),
                        or_dash(r.peak_bytes > 0, fmt::format("{:.1f}", r.peak_bytes / 0x1p20)),
                        or_dash(r.flops_per_s > 0, format_flops(r.flops_per_s)));
    if (with_metg) {
      text += fmt::format("{:>12}", or_dash(r.metg_s.has_value(),
                                            fmt::format("{:.3f}", r.metg_s.value_or(0) * 1e6)));
    }
    text += "\n";
  }
  return text;
}

void write_json(const Workload& workload, int repetitions, std::span<const Result> results,
                std::ostream& out) {
  const PointTask& task = workload.task;
  const auto tasks = static_cast<double>(task.pattern.points());
  const auto or_null = [](bool known, double value) {
    return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Result& r : results) {
    list.push_back({{"runtime", r.runtime},
                    {"type", info(task.pattern.dependence).name},
                    {"width", task.pattern.width},
                    {"steps", task.pattern.steps},
                    {"window", workload.window},
                    {workload.on_nodes ? "nodes" : "devices", workload.cores.size()},
                    {"kernel", point_work_names[static_cast<std::size_t>(task.work)]},
                    {"iterations", task.iterations},
                    {"bytes", task.bytes},
                    {"output_bytes", task.payload_bytes()},
                    {"tasks", task.pattern.points()},
                    {"repetitions", repetitions},
                    {"build_ns_per_task", r.build_s * 1e9 / tasks},
                    {"plan_ns_per_task", r.plan_s * 1e9 / tasks},
                    {"run_ns_per_task", r.run_s * 1e9 / tasks},
                    {"rest_ns_per_task", r.rest_s * 1e9 / tasks},
                    {"tasks_per_s", or_null(r.run_s > 0, tasks / r.run_s)},
                    {"bytes_per_task", r.peak_bytes / tasks},
                    {"peak_bytes", r.peak_bytes},
                    {"flops_per_s", or_null(r.flops_per_s > 0, r.flops_per_s)},
                    {"metg_us", or_null(r.metg_s.has_value(), r.metg_s.value_or(0) * 1e6)}});
  }
  out << list.dump(2) << "\n";
}

}  // namespace troupe::bench
