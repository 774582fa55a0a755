// Ten multiplications on one device, each result copied to another memory. Troupe overlaps the copy
// of y[i-1] with the computation of y[i]; the program doesn't schedule anything. Runs on this
// machine's processor and compares every result with a serial execution.
#include "troupe/troupe.hpp"

#include <vector>

#include <fmt/format.h>

using namespace troupe;

int main() {
  const Machine machine = local_machine(discover_host(), {.cpu_devices = 2});
  const DeviceId device = machine.find_device("cpu0");
  const MemoryId elsewhere = machine.find_memory("mem1");

  Graph graph;
  const OpRegistry& ops = graph.kinds();
  graph.begin_group("x");
  const OpId x = graph.append({.kind = ops.find("uniform"),
                               .placement = {.device = device},
                               .declared = {.dtype = DType::f32, .shape = {500, 500}}});
  const GroupId run = graph.begin_group("y", true);
  std::vector<OpId> y;
  for (int i = 0; i < 10; ++i) {
    const OpId inputs[] = {x, x};
    y.push_back(graph.append(
        {.kind = ops.find("matmul"), .inputs = inputs, .placement = {.device = device}}));
  }
  const GroupId copy = graph.begin_group("copy", true);
  for (const OpId result : y) {
    graph.append(
        {.kind = ops.find("copy"), .inputs = {&result, 1}, .placement = {.memory = elsewhere}});
  }

  const std::vector<Scenario> scenarios = {
      {.name = "one after the other", .steps = {{run}, {}, {copy}}},
      {.name = "pipelined", .steps = {{run}, {copy}}},
  };
  const Report report = Run(machine, graph, scenarios, {}).perform();
  for (const ScenarioReport& s : report.scenarios) {
    fmt::print("{}: {} ops, {} transfers, {}\n", s.name, s.ops, s.transfers,
               s.verified == true ? "equal to a serial execution" : "NOT verified");
  }
}
