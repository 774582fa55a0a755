#include "bench/task_bench/options.hpp"

#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/units.hpp"
#include "core/config/machine_file.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

// The arguments as the user wrote them.
struct Arguments {
  std::string type = "stencil_1d";
  std::string kernel;
  std::vector<std::string> runtimes = {};
  std::int64_t width = 32;
  std::int64_t steps = 1000;
  std::int64_t window = 0;
  std::int64_t radix = 3;
  std::int64_t period = 3;
  double fraction = 0.25;
  std::int64_t seed = 0;
  std::int64_t iterations = 0;
  std::int64_t bytes = 0;
  double imbalance = 0;
  std::int64_t output_bytes = PointTask::pair_bytes;
  std::int64_t devices = 0;
  std::string machine;
  std::optional<std::int64_t> nodes = {};
  std::int64_t repetitions = 3;
};

// `value` of the option of this name. Throws a usage Error unless it is in [value_min, value_max].
std::uint32_t count(std::string_view option, std::int64_t value, std::int64_t value_min = 1,
                    std::int64_t value_max = std::numeric_limits<std::uint32_t>::max()) {
  if (value >= value_min && value <= value_max) return static_cast<std::uint32_t>(value);
  using Limits = std::numeric_limits<std::int64_t>;  // CLI11 reads numbers out of range as a limit
  const std::string given = value == Limits::max()   ? "too large"
                            : value == Limits::min() ? "too small"
                                                     : fmt::format("{}", value);
  throw usage_error(fmt::format("{} is {}", option, given),
                    fmt::format("give it a whole number from {} to {}", value_min, value_max));
}

// The index of `name` in `choices`.
std::size_t choose(std::string_view option, std::string_view name,
                   std::span<const std::string_view> choices) {
  const auto found = std::find(choices.begin(), choices.end(), name);
  if (found == choices.end()) {
    throw usage_error(fmt::format("{} has no '{}'", option, name), suggestion(name, choices));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

Pattern pattern_of(const Arguments& a, bool radix_given) {
  std::vector<std::string_view> types;
  for (const DependenceInfo& d : dependences()) types.push_back(d.name);
  Pattern p;
  p.dependence = static_cast<Dependence>(choose("--type", a.type, types));
  p.width = count("--width", a.width);
  p.steps = count("--steps", a.steps);
  p.radix = count("--radix", a.radix);
  if (!radix_given) p.radix = std::min(p.radix, p.width);
  p.period = count("--period", a.period);
  p.fraction = a.fraction;
  if (a.seed < 0) throw usage_error(fmt::format("--seed is {}", a.seed), "it is at least 0");
  p.seed = static_cast<std::uint64_t>(a.seed);
  return p;
}

PointTask task_of(const Arguments& a, bool radix_given) {
  PointTask task{.pattern = pattern_of(a, radix_given)};
  const std::string kernel = !a.kernel.empty() ? a.kernel : a.iterations != 0 ? "spin" : "empty";
  task.work = static_cast<PointWork>(choose("--kernel", kernel, point_work_names));
  const auto refuse = [&](std::string_view option, PointWork taker) {
    throw usage_error(
        fmt::format("the kernel '{}' takes no {}", kernel, option),
        fmt::format("it is for '{}'", point_work_names[static_cast<std::size_t>(taker)]));
  };
  if (a.iterations != 0 && task.work != PointWork::spin) refuse("--iterations", PointWork::spin);
  if (a.bytes != 0 && task.work != PointWork::memory) refuse("--bytes", PointWork::memory);
  task.iterations = a.iterations;
  task.bytes = a.bytes;
  task.imbalance = a.imbalance;
  // check() would see it as an unsigned number, and its message would quote that.
  if (a.output_bytes < 0) count("--output-bytes", a.output_bytes, PointTask::pair_bytes);
  task.output_bytes = static_cast<std::uint64_t>(a.output_bytes);
  task.check();
  return task;
}

// One core for each device or node. If there are more of them than cores, they share cores round
// robin.
std::vector<int> cores_of(const Arguments& a, bool given, std::uint32_t width) {
  const std::vector<int> host = discover_host().cores;
  std::uint32_t devices = a.nodes ? count("--nodes", *a.nodes, 2)
                          : given ? count("--devices", a.devices)
                                  : std::min(width, static_cast<std::uint32_t>(host.size()));
  if (!a.machine.empty()) {
    devices = static_cast<std::uint32_t>(load_machine_file(a.machine).devices.size());
  }
  if (devices > width) {
    const std::string what = !a.machine.empty() ? "the number of devices"
                             : a.nodes          ? "--nodes"
                                                : "--devices";
    throw usage_error(fmt::format("{} is {}, and the pattern has {}", what, devices,
                                  format_count(width, "column")),
                      fmt::format("each {} needs a column", a.nodes ? "node" : "device"));
  }
  std::vector<int> cores;
  for (std::uint32_t d = 0; d < devices; ++d) cores.push_back(host[d % host.size()]);
  return cores;
}

// The names of the runtimes for several nodes, or of those for one process.
std::vector<std::string> names_of_runtimes(bool on_nodes) {
  std::vector<std::string> names;
  for (const Runtime& r : runtimes()) {
    if (r.on_nodes == on_nodes) names.emplace_back(r.name);
  }
  return names;
}

void choose_runtimes(const Arguments& a, Options& options) {
  std::vector<std::string_view> names;
  for (const Runtime& r : runtimes()) names.push_back(r.name);
  const bool on_nodes = options.workload.on_nodes;
  const std::vector<std::string> fitting = names_of_runtimes(on_nodes);
  for (const std::string& name : a.runtimes.empty() ? std::vector{fitting[0]} : a.runtimes) {
    const Runtime& r = runtimes()[choose("--runtime", name, names)];
    if (!a.machine.empty() && r.measure != simulate_runtime()) {
      throw usage_error(fmt::format("--machine describes what is simulated, and {} isn't", r.name),
                        "add `--runtime simulate`");
    }
    if (r.on_nodes != on_nodes) {
      throw usage_error(
          on_nodes ? fmt::format("{} does not run on several nodes", r.name)
                   : fmt::format("{} runs on several nodes only", r.name),
          on_nodes ? fmt::format("choose from {}", fmt::join(fitting, ", ")) : "give --nodes, too");
    }
    (is_there(r) ? options.runtimes : options.absent).push_back(&r);
  }
}

}  // namespace

Options read_options(int argc, const char* const* argv) {
  CLI::App app{
      "Runs a pattern of Task Bench with Troupe and its peers, interleaved, and compares them."};
  Arguments a;
  Options options;
  double metg = 0;
  app.add_option("--type", a.type, "Dependence pattern")->capture_default_str();
  app.add_option("--width", a.width, "Columns")->capture_default_str();
  app.add_option("--steps", a.steps, "Rows")->capture_default_str();
  const CLI::Option* window = app.add_option(
      "--window", a.window,
      "troupe and simulate append this many rows at a time while earlier ones run: memory then "
      "doesn't grow with the steps; default: all before the run");
  const CLI::Option* radix =
      app.add_option("--radix", a.radix, "Columns read (nearest, spread, random_nearest)")
          ->capture_default_str();
  app.add_option("--period", a.period, "Rows until a spread repeats")->capture_default_str();
  app.add_option("--fraction", a.fraction, "Part of the neighbours that random_nearest reads")
      ->capture_default_str();
  app.add_option("--seed", a.seed, "Seed of random_nearest and of the imbalance")
      ->capture_default_str();
  app.add_option("--kernel", a.kernel,
                 "What a task does: empty, spin or memory; default: spin where --iterations is "
                 "given, else empty");
  app.add_option("--iterations", a.iterations,
                 "Iterations of spin, 128 FLOPs each; with --metg: of the longest tasks");
  app.add_option("--bytes", a.bytes, "Bytes that the kernel memory reads and writes");
  app.add_option("--imbalance", a.imbalance, "A task does from 1 - this of its work to all of it");
  app.add_option("--output-bytes", a.output_bytes, "Bytes of a task's payload")
      ->capture_default_str();
  const CLI::Option* devices = app.add_option("--devices", a.devices,
                                              "Devices of Troupe, threads of the others; default: "
                                              "as many as there are cores");
  app.add_option("--machine", a.machine, "simulate: devices, memories and links of this file")
      ->excludes("--devices");
  app.add_flag_callback(
      "--unplaced", [&options] { options.workload.is_placed = false; },
      "troupe and simulate let the planner choose the device of each task");
  CLI::Option* nodes = app.add_option(
      "--nodes", a.nodes,
      "Node processes on this host, each with one device or thread, instead of --devices");
  app.add_option("--runtime", a.runtimes,
                 fmt::format("Several, comma-separated: {}; with --nodes: {}; default: the first",
                             fmt::join(names_of_runtimes(false), ", "),
                             fmt::join(names_of_runtimes(true), ", ")))
      ->delimiter(',');
  app.add_option("--repetitions", a.repetitions, "Measurements of each; medians are shown")
      ->capture_default_str();
  app.add_option("--json", options.json, "Write the results as JSON to this path");
  const CLI::Option* metg_option =
      app.add_option("--metg", metg,
                     "Also search the task granularity at which this part of the peak rate is "
                     "reached, e.g. 0.5");
  app.add_option("--report", options.report)->group("");
  nodes->excludes("--devices")->excludes("--machine")->excludes("--window");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
    return options;
  }

  options.workload.task = task_of(a, radix->count() > 0);
  const PointTask& task = options.workload.task;
  if (window->count() > 0) options.workload.window = count("--window", a.window);
  options.workload.machine = a.machine;
  options.workload.on_nodes = a.nodes.has_value();
  options.workload.cores = cores_of(a, devices->count() > 0, task.pattern.width);
  options.repetitions = static_cast<int>(count("--repetitions", a.repetitions, 1, 1000));
  choose_runtimes(a, options);
  if (metg_option->count() > 0) {
    if (!(metg > 0 && metg < 1)) {
      throw usage_error(fmt::format("--metg is {}", metg),
                        "give it a part of the peak rate between 0 and 1, such as 0.5");
    }
    if (task.work != PointWork::spin || task.iterations == 0) {
      throw usage_error("--metg needs tasks that compute",
                        "add `--kernel spin --iterations N`: the search begins with N");
    }
    options.metg = metg;
  }
  return options;
}

std::vector<std::string> arguments_for(const Runtime& runtime, const Workload& workload) {
  const PointTask& task = workload.task;
  const Pattern& p = task.pattern;
  std::vector<std::string> arguments;
  const auto add = [&](std::string option, const auto& value) {
    arguments.push_back(std::move(option));
    arguments.push_back(fmt::format("{}", value));
  };
  add("--runtime", runtime.name);
  add("--type", info(p.dependence).name);
  add("--width", p.width);
  add("--steps", p.steps);
  if (workload.window > 0) add("--window", workload.window);
  add("--radix", p.radix);
  add("--period", p.period);
  add("--fraction", p.fraction);
  add("--seed", p.seed);
  add("--kernel", point_work_names[static_cast<std::size_t>(task.work)]);
  if (task.work == PointWork::spin) add("--iterations", task.iterations);
  if (task.work == PointWork::memory) add("--bytes", task.bytes);
  add("--imbalance", task.imbalance);
  add("--output-bytes", task.output_bytes);
  if (workload.machine.empty()) {
    add(workload.on_nodes ? "--nodes" : "--devices", workload.cores.size());
  } else {
    add("--machine", workload.machine);
  }
  if (!workload.is_placed) arguments.emplace_back("--unplaced");
  return arguments;
}

}  // namespace troupe::bench
