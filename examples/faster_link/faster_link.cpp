// How much would a faster link help? Simulates the chapter's experiment 3a (ten products of
// 6000 x 6000 matrices on a GPU, each copied to the host) for links of several speeds. The time is
// virtual: no GPU is needed, and the same input always gives the same times.
#include "actors/runner.hpp"

#include <fmt/format.h>

using namespace troupe;

namespace {

Machine machine_with_link(double bytes_per_s) {
  Machine machine;
  machine.name = "one GPU";
  machine.memories = {{.name = "host", .size_bytes = std::uint64_t{64} << 30},
                      {.name = "vram", .size_bytes = std::uint64_t{16} << 30}};
  machine.devices = {{.name = "gpu",
                      .kind = DeviceKind::gpu,
                      .memory = machine.find_memory("vram"),
                      .op_flops = {{"matmul", 14e12}}}};
  machine.links = {{.name = "pcie",
                    .a = machine.find_memory("host"),
                    .b = machine.find_memory("vram"),
                    .bandwidth = {bytes_per_s, bytes_per_s}}};
  return machine;
}

// The makespan of [run, wait, copy] with `wait_between`, otherwise of [run, copy].
Duration makespan(const Machine& machine, bool wait_between) {
  Graph graph;
  const Placement gpu{.device = machine.find_device("gpu")};
  graph.begin_group("x");
  const OpId x = graph.append({.kind = graph.kinds().find("uniform"),
                               .placement = gpu,
                               .declared = {.shape = {6000, 6000}}});
  const GroupId run = graph.begin_group("run", true);
  std::vector<OpId> results;
  for (int i = 0; i < 10; ++i) {
    const OpId inputs[] = {x, x};
    results.push_back(
        graph.append({.kind = graph.kinds().find("matmul"), .inputs = inputs, .placement = gpu}));
  }
  const GroupId copy = graph.begin_group("copy", true);
  for (const OpId y : results) {
    graph.append({.kind = graph.kinds().find("copy"),
                  .inputs = {&y, 1},
                  .placement = {.memory = machine.find_memory("host")}});
  }
  Scenario scenario{.name = "3a", .steps = {{run}, {copy}}};
  if (wait_between) scenario.steps.insert(scenario.steps.begin() + 1, Step{});
  return Run(machine, graph, {&scenario, 1}, {.mode = Mode::simulate})
      .perform()
      .scenarios[0]
      .makespan;
}

}  // namespace

int main() {
  fmt::print("link         then copy   pipelined\n");
  for (const double gigabytes_per_s : {1.44, 3.0, 6.0, 12.0, 24.0}) {
    const Machine machine = machine_with_link(gigabytes_per_s * 1e9);
    fmt::print("{:5.2f} GB/s   {:6.3f} s    {:6.3f} s\n", gigabytes_per_s,
               seconds(makespan(machine, true)), seconds(makespan(machine, false)));
  }
}
