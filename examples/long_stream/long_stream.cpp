// A computation of unlimited length: eight vectors, each scaled 50,000 times. Ops are appended in
// windows of 500 steps while earlier windows run. Finished ops are forgotten, so that memory
// doesn't grow with the number of steps.
#include "actors/stream.hpp"

#include <vector>

#include <fmt/format.h>

using namespace troupe;

int main() {
  Machine machine;
  machine.name = "two devices";
  machine.memories = {{.name = "ram", .size_bytes = std::uint64_t{1} << 30}};
  const MemoryId ram = machine.find_memory("ram");
  machine.devices = {{.name = "cpu0", .memory = ram}, {.name = "cpu1", .memory = ram}};

  Graph graph;
  Stream stream(machine, graph, {});

  constexpr std::size_t columns = 8;
  std::vector<Placement> placements;
  std::vector<OpId> latest;  // of each column
  graph.begin_group("start", true);
  for (std::size_t i = 0; i < columns; ++i) {
    placements.push_back({.device = machine.find_device(i < columns / 2 ? "cpu0" : "cpu1")});
    latest.push_back(graph.append({.kind = graph.kinds().find("uniform"),
                                   .placement = placements[i],
                                   .declared = {.shape = {64}}}));
  }

  // A template for the ops of each column.
  graph.begin_group("scaled", true);
  std::vector<OpTemplateId> scale;
  for (const Placement& p : placements) {
    scale.push_back(graph.add_template(
        {.kind = graph.kinds().find("scale"), .placement = p, .attrs = {0.999}}));
  }
  constexpr int windows = 100;
  constexpr int steps = 500;
  for (int w = 0; w < windows; ++w) {
    for (int t = 0; t < steps; ++t) {
      for (std::size_t i = 0; i < columns; ++i) {
        latest[i] = graph.append(scale[i], {&latest[i], 1});
      }
    }
    // The next window reads only the last row, so all older ops may be forgotten.
    if (!stream.submit(latest[0])) break;
  }

  const ScenarioReport report = stream.finish("long stream");
  if (report.outcome != Outcome::done) {
    fmt::print(stderr, "{}\n", report.error);
    return 1;
  }
  fmt::print("{} ops in {} windows: done\n", report.ops, windows);
}
