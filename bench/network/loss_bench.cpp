// loss_bench: what a node costs that is killed, or stopped. Two node processes of this host, or
// more, compute a pattern; when half of it is done, the last node gets SIGKILL, or SIGSTOP, and the
// others make what is missing. Also, how busy a node is that has nothing to do.
//
// What is left, and what was lost, are ops. How many had finished when the node was killed is what
// the leader had heard by then: at most 100 ms late, which makes less of the loss. How many were
// planned anew, the report says. Both are given as times, too: those of as many ops on the nodes
// that are left, each as long as ops took there after the kill.
#include "actors/nodes/cluster.hpp"
#include "actors/runner.hpp"
#include "bench/child.hpp"
#include "bench/median.hpp"
#include "bench/temporary_folder.hpp"
#include "core/base/error.hpp"
#include "core/base/temporary_path.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/discover.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "core/patterns/patterns.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

using namespace troupe;
using SteadyClock = std::chrono::steady_clock;

struct Sample {
  double left = 0;      // ops that had not finished
  double lost = 0;      // ops that had, and were made again
  double known_s = 0;   // from the kill until the leader knew, within one op
  double pause_s = 0;   // after it, the longest time in which a node that is left computed nothing
  double result_s = 0;  // from the kill to the results
  double op_s = 0;      // after the kill
  double left_s = 0;
  double lost_s = 0;

  // Wanted: the results are there by then.
  double bound_s() const { return 1.5 * lost_s + left_s; }
};

struct Settings {
  std::size_t nodes = 2;
  int repetitions = 5;
  double node_timeout_s = 10;
  bool stops = false;  // the node, instead of killing it
  bool uses_shared_memory = false;
};

class Experiment {
 public:
  Experiment(const Settings& settings, const PointTask& task)
      : blow_(settings.stops ? SIGSTOP : SIGKILL) {
    const std::vector<int> cores = discover_host().cores;
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "troupe";
    std::vector<std::string> addresses;
    for (std::size_t n = 0; n < settings.nodes; ++n) {
      nodes_.push_back(std::make_unique<bench::Child>(
          std::vector<std::string>{"taskset", "--cpu-list", std::to_string(cores[n % cores.size()]),
                                   program, "node", "--listen", "127.0.0.1:0", "--once"}));
      const std::string line = nodes_.back()->line();
      constexpr std::string_view expected = "listening on ";
      if (!line.starts_with(expected)) throw run_error("a node could not be started: " + line);
      addresses.push_back(line.substr(expected.size(), line.find(',') - expected.size()));
    }
    cluster_.emplace(pattern_ops(),
                     ClusterOptions{.addresses = addresses,
                                    .node_timeout = from_seconds(settings.node_timeout_s),
                                    .uses_shared_memory = settings.uses_shared_memory});
    std::vector<DeviceId> devices;
    for (std::size_t d = 0; d < cluster_->machine().devices.size(); ++d) {
      devices.push_back(DeviceId::at(d));
    }
    group_ = append_points(graph_, task, devices, "grid");
    for (std::size_t op = graph_.size() - task.pattern.width; op < graph_.size(); ++op) {
      results_.ops.push_back(OpId::at(op));
    }
  }

  // The share of a core that the last node keeps busy while it waits for work.
  double idle_share() const {
    constexpr std::chrono::seconds time(2);
    const double before = nodes_.back()->cpu_seconds();
    std::this_thread::sleep_for(time);
    return (nodes_.back()->cpu_seconds() - before) / std::chrono::duration<double>(time).count();
  }

  Sample measure() {
    Sample sample;
    std::optional<SteadyClock::time_point> killed;
    const auto since_kill = [&] {
      return std::chrono::duration<double>(SteadyClock::now() - *killed).count();
    };
    const auto on_progress = [&](const RunProgress& progress) {
      if (progress.phase != RunProgress::Phase::running) return;
      if (killed && sample.known_s == 0 && cluster_->has_ever_lost_node()) {
        sample.known_s = since_kill();
      }
      if (killed || 2 * progress.done < progress.total) return;
      nodes_.back()->send(blow_);
      killed = SteadyClock::now();
      const double done = static_cast<double>(progress.done) / static_cast<double>(progress.total);
      sample.left = ops() * (1 - done);
    };
    const std::vector<Scenario> scenarios{{.name = "all", .steps = {Step{.group = group_}}}};
    Run run(cluster_->machine(), graph_, scenarios,
            {.verify = false,
             .saves = {&results_, 1},
             .cluster = &*cluster_,
             .on_loss = OnLoss::replan,
             .on_progress = on_progress});
    const Report report = run.perform();
    nodes_.back()->send(SIGKILL);  // nobody waits for one that is stopped
    const ScenarioReport& scenario = report.scenarios.at(0);
    if (scenario.outcome != Outcome::done) throw run_error(scenario.error);
    if (!killed) throw run_error("the run was over before a node could be killed");
    sample.result_s = since_kill();
    sample.lost = planned_anew(report) - sample.left;
    if (sample.lost <= 0) throw run_error("nothing was lost");
    look_at_the_others(scenario, sample);
    const auto nodes_left = static_cast<double>(nodes_.size() - 1);
    sample.left_s = sample.left * sample.op_s / nodes_left;
    sample.lost_s = sample.lost * sample.op_s / nodes_left;
    return sample;
  }

 private:
  double ops() const { return static_cast<double>(graph_.size()); }

  // By the note on the loss.
  static double planned_anew(const Report& report) {
    for (const std::string& note : report.notes) {
      const std::size_t at = note.find("Of the ops that ");
      double again = 0;
      double others = 0;
      if (at == std::string::npos) continue;
      std::sscanf(note.c_str() + at,
                  "Of the ops that %*[^,], %lf %*s made again; of the others, %lf", &again,
                  &others);
      return again + others;
    }
    throw run_error("the report has no note on the loss");
  }

  void look_at_the_others(const ScenarioReport& scenario, Sample& sample) const {
    const double killed_s = seconds(scenario.makespan) - sample.result_s;
    const std::string killed = fmt::format("n{}.", nodes_.size() - 1);
    const Timeline& timeline = scenario.timeline;
    std::vector<Span> spans(timeline.spans.begin(), timeline.spans.end());
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.start < b.start; });
    std::map<std::uint32_t, Instant> ends;  // by track
    double busy_s = 0;
    double count = 0;
    for (const Span& span : spans) {
      const std::string& resource = timeline.tracks[span.track].resource;
      if (resource.starts_with(killed) || !resource.ends_with(".cpu0")) continue;
      const auto [end, is_first] = ends.try_emplace(span.track, span.end);
      const Instant before = std::exchange(end->second, span.end);
      if (seconds(span.start.time_since_epoch()) < killed_s) continue;
      if (!is_first) sample.pause_s = std::max(sample.pause_s, seconds(span.start - before));
      busy_s += seconds(span.end - span.start);
      ++count;
    }
    sample.op_s = busy_s / count;
  }

  const int blow_;
  std::vector<std::unique_ptr<bench::Child>> nodes_;
  std::optional<Cluster> cluster_;
  Graph graph_{pattern_ops()};
  GroupId group_;
  const bench::TemporaryFolder folder_{temporary_directory()};
  SavedFile results_{.path = folder_.path() / "results.safetensors", .ops = {}};  // the last row
};

// Appends to `idle_shares`.
void measure(const Settings& settings, const PointTask& task, std::vector<double>& idle_shares) {
  std::vector<Sample> samples;
  for (int n = 0; n < settings.repetitions; ++n) {
    Experiment experiment(settings, task);
    idle_shares.push_back(experiment.idle_share());
    samples.push_back(experiment.measure());
  }
  const auto median = [&](const auto& figure) {
    std::vector<double> values;
    for (const Sample& s : samples) values.push_back(figure(s));
    return bench::median(values);
  };
  const auto of = [&](double Sample::*figure) {
    return median([figure](const Sample& s) { return s.*figure; });
  };
  const auto ms = [&](double Sample::*figure) { return of(figure) * 1e3; };
  fmt::print(
      "{:<12}{:>6.2f}{:>8.0f}{:>8.0f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>8.2f}\n",
      info(task.pattern.dependence).name, ms(&Sample::op_s), of(&Sample::left), of(&Sample::lost),
      ms(&Sample::known_s), ms(&Sample::pause_s), ms(&Sample::left_s), ms(&Sample::lost_s),
      median([](const Sample& s) { return s.bound_s(); }) * 1e3, ms(&Sample::result_s),
      median([](const Sample& s) { return s.result_s / s.bound_s(); }));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::vector<std::int64_t> iterations{1 << 18, 1 << 20};
  std::int64_t of_column = std::int64_t{200} << 20;  // some seconds
  CLI::App app(
      "Measures what a node costs that is killed, or stopped, when half of a run is done.");
  app.add_flag("--stop", settings.stops, "The node is stopped, instead of killed");
  app.add_flag("--shared-memory", settings.uses_shared_memory,
               "Tensors go through shared memory, instead of TCP");
  app.add_option("--node-timeout", settings.node_timeout_s,
                 "Seconds; a node silent for longer is lost")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--nodes", settings.nodes, "Node processes of one core")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  app.add_option("--repetitions", settings.repetitions, "Samples; medians are shown")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--iterations", iterations, "Of an op, 128 FLOPs each; several, comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1} << 10, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--of-column", of_column,
                 "Iterations of all ops of a column, of which a node has two")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("{} nodes, of which one is {}; medians of {}\n", settings.nodes,
               settings.stops ? "stopped" : "killed", settings.repetitions);
    std::vector<double> idle_shares;
    const auto heading = [](const auto&... words) {
      fmt::print("{:<12}{:>6}{:>8}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}\n", words...);
    };
    heading("", "op", "left", "lost", "known", "pause", "left", "lost", "bound", "result",
            "result");
    heading("", "ms", "ops", "ops", "ms", "ms", "ms", "ms", "ms", "ms", "/ bound");
    for (const Dependence dependence : {Dependence::no_comm, Dependence::stencil_1d}) {
      for (const std::int64_t of_op : iterations) {
        const std::int64_t steps = std::max<std::int64_t>(20, of_column / of_op);
        measure(settings,
                {.pattern = {.dependence = dependence,
                             .width = static_cast<std::uint32_t>(2 * settings.nodes),
                             .steps = static_cast<std::uint32_t>(steps)},
                 .work = PointWork::spin,
                 .iterations = of_op},
                idle_shares);
      }
    }
    fmt::print("before, waiting for work, the node kept {:.4f} of a core busy\n",
               bench::median(idle_shares));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "loss_bench: {}\n", error.what());
    return 1;
  }
}
