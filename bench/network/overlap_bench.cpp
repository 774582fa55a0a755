// overlap_bench: what a computing device loses to the link beside it, on two node processes of this
// host. The first node computes a chain of products, and each product is copied to the second node:
// not at all, after the last product, or while the next ones are computed, in turns. Medians are
// shown.
//
// In a chain, a product's buffer is soon free again, copied or not. Products that nobody reads
// would each be written to a buffer of their own, outside the caches, and computing alone would be
// slower than beside a link.
//
// A node has as many devices as cores, so copying takes time from computing. Therefore the time
// that the copies take by themselves, after the products, is shown, too: what the device loses
// beyond it is what the two do to each other.
#include "actors/nodes/cluster.hpp"
#include "actors/runner.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "bench/median.hpp"
#include "core/base/error.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/patterns/pattern_ops.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

using namespace troupe;

struct Sample {
  double makespan_s = 0;
  double busy_s = 0;  // of the first device
  double efficiency = 0;
};

// The products, and their copies.
struct Chain {
  Graph graph{pattern_ops()};
  GroupId run;
  GroupId copy;

  static constexpr std::int64_t extent = 600;
  static constexpr std::size_t length = 100;

  explicit Chain(const Machine& machine) {
    const OpRegistry& ops = pattern_ops();
    const Placement here{.device = DeviceId{0}};
    graph.begin_group("x");
    const OpId x = graph.append({.kind = ops.find("uniform"),
                                 .placement = here,
                                 .declared = {.dtype = DType::f32, .shape = {extent, extent}}});
    // Values stay near 0.5.
    Attrs factor;
    factor.set("alpha", 2.0 / extent);
    const OpId w = graph.append(
        {.kind = ops.find("scale"), .inputs = {&x, 1}, .placement = here, .attrs = factor});
    run = graph.begin_group("run", true);
    std::vector<OpId> products;
    for (std::size_t k = 0; k < length; ++k) {
      const OpId inputs[] = {products.empty() ? x : products.back(), w};
      products.push_back(
          graph.append({.kind = ops.find("matmul"), .inputs = inputs, .placement = here}));
    }
    copy = graph.begin_group("copy", true);
    const Placement there{.memory = machine.device(DeviceId{1}).memory};
    for (const OpId& product : products) {
      graph.append({.kind = ops.find("copy"), .inputs = {&product, 1}, .placement = there});
    }
  }
};

class Experiment {
 public:
  explicit Experiment(bool uses_shared_memory)
      : nodes_({.count = 2,
                .program =
                    std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() /
                    "troupe"}),
        cluster_(pattern_ops(),
                 {.addresses = nodes_.addresses(), .uses_shared_memory = uses_shared_memory}),
        chain_(cluster_.machine()) {}

  const Chain& chain() const { return chain_; }

  Sample measure(const std::vector<Step>& steps) {
    const std::vector<Scenario> scenarios{{.name = "overlap", .steps = steps}};
    Run run(cluster_.machine(), chain_.graph, scenarios, {.verify = false, .cluster = &cluster_});
    const Report report = run.perform();
    const ScenarioReport& scenario = report.scenarios.at(0);
    if (scenario.outcome != Outcome::done) throw run_error(scenario.error);
    return {.makespan_s = seconds(scenario.makespan),
            .busy_s = seconds(scenario.resources.at(0).busy),
            .efficiency = scenario.overlap_efficiency()};
  }

 private:
  LocalNodes nodes_;
  Cluster cluster_;
  Chain chain_;
};

struct Medians {
  std::vector<Sample> samples;

  double of(double Sample::*figure) const {
    std::vector<double> values;
    for (const Sample& s : samples) values.push_back(s.*figure);
    return bench::median(values);
  }
};

void compare(bool uses_shared_memory, int repetitions) {
  Experiment experiment(uses_shared_memory);
  const Step run{.group = experiment.chain().run};
  const Step copy{.group = experiment.chain().copy};
  const Step wait{};
  Medians alone, after, beside;
  for (int n = 0; n <= repetitions; ++n) {  // the first time, memory is touched
    const Sample first = experiment.measure({run});
    const Sample second = experiment.measure({run, wait, copy, wait});
    const Sample third = experiment.measure({run, copy, wait});
    if (n == 0) continue;
    alone.samples.push_back(first);
    after.samples.push_back(second);
    beside.samples.push_back(third);
  }
  const auto ms = [](const Medians& m, double Sample::*figure) { return m.of(figure) * 1e3; };
  const double busy_ms = ms(alone, &Sample::busy_s);
  const double copying_ms = ms(after, &Sample::makespan_s) - ms(alone, &Sample::makespan_s);
  const double slower_ms = ms(beside, &Sample::busy_s) - busy_ms;
  fmt::print("{} products of {} × {} on one node, copied to another by {}; medians of {}\n",
             Chain::length, Chain::extent, Chain::extent,
             uses_shared_memory ? "shared memory" : "TCP", repetitions);
  const auto line = [](const char* what, double value, const char* unit) {
    fmt::print("  {:<44}{:>9.2f} {}\n", what, value, unit);
  };
  line("run", ms(alone, &Sample::makespan_s), "ms");
  line("run, then copy", ms(after, &Sample::makespan_s), "ms");
  line("run and copy", ms(beside, &Sample::makespan_s), "ms");
  line("overlap efficiency of run and copy", beside.of(&Sample::efficiency), "");
  line("device busy, alone", busy_ms, "ms");
  line("device busy, beside the link", busy_ms + slower_ms, "ms");
  line("the copies by themselves", copying_ms, "ms");
  line("slowdown of the device", 100 * slower_ms / busy_ms, "%");
  line("slowdown beyond the copies by themselves", 100 * (slower_ms - copying_ms) / busy_ms, "%");
}

}  // namespace

int main(int argc, char** argv) {
  int repetitions = 7;
  CLI::App app("Measures computing beside copying, on two nodes.");
  app.add_option("--repetitions", repetitions, "rounds; medians are shown")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    for (const bool uses_shared_memory : {false, true}) {
      compare(uses_shared_memory, repetitions);
    }
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "overlap_bench: {}\n", error.what());
    return 1;
  }
}
