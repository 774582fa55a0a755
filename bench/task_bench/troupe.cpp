// Troupe itself, run and simulated: one device with one stream for each core. All devices share one
// memory, so that there are no transfers; or, simulated, the devices of a machine file. Each device
// computes a block of columns, unless the planner is to choose. On several nodes, each has a device
// and a memory, and payloads are transferred.
//
// `run` is the time from the actors' first message to their last record (ScenarioReport::took).
// `rest` is the time for starting threads, allocating buffers and making the report, which has no
// timeline. With windows, building and planning overlap the run, and `run` is the time from the
// first op to the report.
#include "actors/nodes/cluster.hpp"
#include "actors/runner.hpp"
#include "actors/stream.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "bench/task_bench/peer.hpp"
#include "core/backend/openblas/pinning.hpp"
#include "core/base/error.hpp"
#include "core/config/machine_file.hpp"
#include "core/machine/discover.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "core/patterns/patterns.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::bench {
namespace {

using namespace std::chrono_literals;

Machine make_machine(const Workload& workload, Mode mode) {
  if (!workload.machine.empty()) return load_machine_file(workload.machine);
  Machine machine{.name = "task_bench", .devices = {}, .memories = {}, .links = {}};
  // A simulation holds no payloads.
  const std::uint64_t size =
      mode == Mode::simulate ? std::uint64_t{1} << 60 : discover_host().memory_bytes;
  machine.memories.push_back({.name = "host", .size_bytes = size});
  for (std::size_t d = 0; d < workload.cores.size(); ++d) {
    machine.devices.push_back({.name = "cpu" + std::to_string(d),
                               .memory = MemoryId{0},
                               .launch = mode == Mode::simulate ? Duration{1us} : Duration{0},
                               .flops = 16e9,
                               .cores = {workload.cores[d]}});
  }
  return machine;
}

// None if the planner chooses.
std::vector<DeviceId> devices_to_use(const Workload& workload, const Machine& machine) {
  std::vector<DeviceId> devices;
  if (!workload.is_placed) return devices;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) devices.push_back(DeviceId::at(d));
  return devices;
}

// `cluster`: the nodes of the machine, or null.
Times measure_whole(const Workload& workload, const Machine& machine, Mode mode,
                    Cluster* cluster = nullptr) {
  Times times;
  const Stopwatch build;
  Graph graph{pattern_ops()};
  const GroupId group =
      append_points(graph, workload.task, devices_to_use(workload, machine), "task");
  times.build = build.elapsed();

  const std::vector<Scenario> scenarios{{.name = "all", .steps = {Step{.group = group}}}};
  const Stopwatch plan;
  Run run(machine, graph, scenarios,
          {.mode = mode, .verify = false, .keep_timeline = false, .cluster = cluster});
  times.plan = plan.elapsed();

  const Stopwatch all;
  const Report report = run.perform();
  const ScenarioReport& scenario = report.scenarios.at(0);
  if (scenario.outcome != Outcome::done) throw run_error(scenario.error);
  times.run = scenario.took;
  times.rest = all.elapsed() - times.run;
  return times;
}

// Building and planning overlap the run.
Times measure_windows(const Workload& workload, const Machine& machine, Mode mode) {
  const std::vector<DeviceId> devices = devices_to_use(workload, machine);
  Times times;
  const Stopwatch all;
  Graph graph{pattern_ops()};
  Stream stream(machine, graph, {.mode = mode});
  const Stopwatch run;
  const PointTask& task = workload.task;
  PatternRows rows(graph, task.pattern, point_ops(graph, task, devices), "task");
  const bool reads_before = task.pattern.inputs_max() > 0;
  do {
    rows.append(workload.window);
  } while (stream.submit(reads_before ? rows.last_row() : OpId::at(graph.size())) &&
           !rows.is_complete());
  const ScenarioReport report = stream.finish("all");
  times.run = run.elapsed();
  if (report.outcome != Outcome::done) throw run_error(report.error);
  if (report.ops != task.pattern.points()) throw run_error("not every task was carried out");
  times.rest = all.elapsed() - times.run;
  return times;
}

Times measure(const Workload& workload, Mode mode) {
  const Machine machine = make_machine(workload, mode);
  return workload.window > 0 ? measure_windows(workload, machine, mode)
                             : measure_whole(workload, machine, mode);
}

Times measure_on_nodes(const Workload& workload, bool uses_shared_memory) {
  pin_this_thread(workload.cores);  // the nodes divide them
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const LocalNodes nodes(
      {.count = workload.cores.size(), .program = here.parent_path() / "troupe"});
  Cluster cluster(pattern_ops(),
                  {.addresses = nodes.addresses(), .uses_shared_memory = uses_shared_memory});
  return measure_whole(workload, cluster.machine(), Mode::run, &cluster);
}

}  // namespace

Measure troupe_runtime() {
  return [](const Workload& workload) { return measure(workload, Mode::run); };
}

Measure simulate_runtime() {
  return [](const Workload& workload) { return measure(workload, Mode::simulate); };
}

Measure troupe_tcp_runtime() {
  return [](const Workload& workload) { return measure_on_nodes(workload, false); };
}

Measure troupe_shared_memory_runtime() {
  return [](const Workload& workload) { return measure_on_nodes(workload, true); };
}

}  // namespace troupe::bench
