#include "apps/troupe/commands.hpp"

#include "actors/nodes/cluster.hpp"
#include "actors/runner.hpp"
#include "apps/troupe/checkpoints.hpp"
#include "apps/troupe/command_parts.hpp"
#include "apps/troupe/guard.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/launch/launch.hpp"
#include "apps/troupe/launch/launched_node.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "apps/troupe/losses.hpp"
#include "apps/troupe/print_error.hpp"
#include "apps/troupe/progress_bar.hpp"
#include "core/backend/memory_store.hpp"
#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"
#include "core/files/output_file.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/local_cores.hpp"
#include "core/trace/writers.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

std::vector<Scenario> chosen_scenarios(const RunFile& file, const std::vector<std::string>& names) {
  if (names.empty()) return file.scenarios;
  std::vector<Scenario> chosen;
  for (const std::string& name : names) {
    std::vector<std::string_view> known;
    const Scenario* found = nullptr;
    for (const Scenario& s : file.scenarios) {
      known.push_back(s.name);
      if (s.name == name) found = &s;
    }
    if (found == nullptr) {
      throw usage_error(fmt::format("the file has no scenario '{}'", name),
                        suggestion(name, known));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

int exit_code(const Report& report) {
  for (const ScenarioReport& s : report.scenarios) {
    const bool is_done = s.outcome == Outcome::done || s.outcome == Outcome::done_before;
    if (!is_done || s.verified == false) return exit_failed;
  }
  return exit_done;
}

// Returns a line for each device and link: its backend and, in a real run, its cores.
std::vector<std::string> describe_backends(const RunSetting& setting, const Machine& machine) {
  std::vector<std::string> lines;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const Device& device = machine.devices[d];
    lines.push_back(fmt::format("device {}: backend {}{}", device.name,
                                setting.device_backends[d]->name,
                                !setting.has_virtual_time && !device.cores.empty()
                                    ? fmt::format(", cores {}", fmt::join(device.cores, " "))
                                    : ""));
  }
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    lines.push_back(
        fmt::format("link {}: backend {}", machine.links[l].name, setting.link_backends[l]->name));
  }
  return lines;
}

// Fills in what a machine file may leave to this host, and refuses files of tensors that can't be
// read or written. Does only what the mode needs.
void complete_for(Mode mode, RunFile& file, bool is_here = true) {
  if (is_here) complete_machine(mode, file.machine);
  if (computes_values(mode)) check_data(file);
}

// If `verbose`, prints to standard error how long each phase of the program took.
class PhaseTimes {
 public:
  PhaseTimes(bool verbose, ProgressBar& bar) : verbose_(verbose), bar_(bar) {}

  // Call at the end of each phase, with the number of ops that it worked on.
  void ended(std::string_view phase, std::uint64_t ops) {
    const auto now = std::chrono::steady_clock::now();
    const auto taken = std::chrono::duration_cast<Duration>(now - since_);
    since_ = now;
    if (!verbose_) return;
    std::string line = fmt::format("{} {} ops in {}", phase, ops, format_duration(taken));
    if (ops > 0)
      line += fmt::format(", {} ns each", taken.count() / static_cast<std::int64_t>(ops));
    bar_.print_line(line);
  }

 private:
  bool verbose_;
  ProgressBar& bar_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Throws a usage Error if an output would overwrite the other output, an input, or the file that
// standard output goes to.
void check_outputs(const RunArguments& arguments, const RunFile& file) {
  const auto is_shared = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_other(path, ignored);  // a terminal, /dev/null, a pipe
  };
  const auto same = [&](const std::string& a, const std::string& b) {
    std::error_code ignored;  // equivalent() fails if a file doesn't exist yet
    return !a.empty() && !b.empty() && !is_shared(a) &&
           (std::filesystem::equivalent(a, b, ignored) || output_target(a) == output_target(b));
  };
  for (const std::string& output : {arguments.json, arguments.trace}) {
    for (const std::string& input : {arguments.file, file.machine_file.string()}) {
      if (!same(output, input)) continue;
      throw usage_error(fmt::format("'{}' is the {} file, and would be overwritten", output,
                                    same(output, arguments.file) ? "run" : "machine"),
                        "give another path for the output");
    }
    for (const InputData& data : file.inputs) {
      if (!same(output, data.path.string())) continue;
      throw usage_error(fmt::format("'{}' is read by the run, and would be overwritten", output),
                        "give another path for the output");
    }
    for (const SavedFile& saved : file.saves) {
      if (!same(output, saved.path.string())) continue;
      throw usage_error(fmt::format("a result is to be saved to '{}', too", output),
                        "give each a path of its own");
    }
    if (same(output, "/dev/stdout") && !names_descriptor(output)) {
      throw usage_error(fmt::format("standard output goes to '{}', too", output),
                        "give each a path of its own");
    }
  }
  if (same(arguments.json, arguments.trace)) {
    throw usage_error(arguments.json == arguments.trace
                          ? fmt::format("--json and --trace both write '{}'", arguments.json)
                          : fmt::format("--json and --trace both write one file, '{}' and '{}'",
                                        arguments.json, arguments.trace),
                      "give each a path of its own");
  }
}

// The nodes that a run uses.
struct RunNodes {
  std::optional<LocalNodes> local;
  std::optional<Cluster> cluster;

  RunNodes(const RunArguments& arguments, const OpRegistry& ops) {
    std::vector<std::string> addresses = arguments.nodes;
    if (arguments.local_nodes > 0) {
      addresses = local
                      .emplace(LocalNodesOptions{.count = arguments.local_nodes,
                                                 .ops = arguments.ops,
                                                 .node_timeout_s = arguments.node_timeout_s})
                      .addresses();
    }
    if (addresses.empty()) return;
    cluster.emplace(ops,
                    ClusterOptions{.addresses = addresses,
                                   .connect_timeout = from_seconds(arguments.connect_timeout_s),
                                   .awaits_nodes = arguments.awaits_nodes,
                                   .node_timeout = from_seconds(arguments.node_timeout_s),
                                   .uses_shared_memory = arguments.shared_memory,
                                   .tls = tls_context(arguments.tls),
                                   .interrupted = &interrupted()});
  }
  const Machine* machine() const { return cluster ? &cluster->machine() : nullptr; }
};

std::optional<Duration> checkpoint_interval(const RunArguments& arguments) {
  if (arguments.checkpoint_s == 0) return std::nullopt;
  return from_seconds(arguments.checkpoint_s);
}

int carry_out(Mode mode, const RunArguments& arguments) {
  ProgressBar bar;
  PhaseTimes times(arguments.verbose, bar);
  // Runs `work` as a phase of this name, which the progress bar shows.
  const auto phase = [&](ErrorKind kind, const std::string& what, auto&& work) {
    bar.begin(what);
    return guard(kind, what, work);
  };
  const OpRegistry ops = ops_with(arguments.ops);
  RunNodes nodes =
      phase(ErrorKind::usage, "getting the nodes", [&] { return RunNodes(arguments, ops); });
  RunFile file = phase(ErrorKind::usage, "loading " + arguments.file,
                       [&] { return load_run_file(arguments.file, ops, nodes.machine()); });
  times.ended("loaded", file.graph.size());
  const std::vector<Scenario> scenarios =
      phase(ErrorKind::usage, "setting up " + arguments.file, [&] {
        check_outputs(arguments, file);
        for (const std::string& mapping : arguments.map) {
          map_device(file.machine, mapping, discover_host());
        }
        complete_for(mode, file, nodes.machine() == nullptr);
        return chosen_scenarios(file, arguments.scenarios);
      });
  RunCheckpoints checkpoints = phase(ErrorKind::usage, "looking for checkpoints",
                                     [&] { return RunCheckpoints(arguments, file, scenarios); });
  const std::string count = format_count(file.graph.size(), "op");
  Run run = phase(ErrorKind::usage, fmt::format("planning {} of {}", count, arguments.file), [&] {
    return Run(file.machine, file.graph, scenarios,
               {.mode = mode,
                .seed = arguments.seed,
                .verify = !arguments.no_verify,
                .interrupted = &interrupted(),
                .saves = file.saves,
                .cluster = nodes.cluster ? &*nodes.cluster : nullptr,
                .on_loss = arguments.fails_on_loss ? OnLoss::fail : OnLoss::replan,
                .losses = parse_losses(arguments.losses, file.machine),
                .checkpoints = checkpoints.folder ? &*checkpoints.folder : nullptr,
                .checkpoint_interval = checkpoint_interval(arguments),
                .resumed = checkpoints.resumed ? &*checkpoints.resumed : nullptr,
                .on_progress = [&bar](const RunProgress& progress) { bar.show(progress); }});
  });
  times.ended("planned", run.op_count());
  std::optional<OutputFile> json;
  std::optional<OutputFile> trace;
  phase(ErrorKind::usage, "opening the outputs of " + arguments.file, [&] {
    if (!arguments.json.empty()) json.emplace(arguments.json);
    if (!arguments.trace.empty()) trace.emplace(arguments.trace);
    // Not earlier: opening a named pipe waits for its reader, and a signal must end that at once.
    catch_interrupts();
    if (!arguments.verbose) return;
    for (const std::string& line : describe_backends(run.setting(), file.machine)) {
      bar.print_line(line);
    }
  });

  Report report =
      guard(ErrorKind::failed, "running " + arguments.file, [&] { return run.perform(); });
  if (!report.interrupted) limit_interrupted_time();
  report.title = file.title;
  if (nodes.cluster && nodes.cluster->uses_tls_for_tensors()) {
    report.notes.emplace_back(
        "Tensors went from node to node over TLS, which is slower than UCX on a trusted network.");
  }
  times.ended(run.setting().name_past, run.op_count());
  // If an output fails, the others are written all the same. The first error is thrown at the end.
  std::optional<Error> failure;
  const auto attempt = [&failure](auto&& write) {
    try {
      write();
    } catch (const Error& error) {
      if (!failure) failure = error;
    }
  };
  const auto write_to = [&](std::optional<OutputFile>& output, const std::string& path,
                            void (*write)(const Report&, std::ostream&)) {
    if (!output) return;
    attempt([&] {
      phase(ErrorKind::failed, "writing " + path, [&] {
        write(report, output->stream());
        output->commit();
      });
    });
  };
  write_to(json, arguments.json, write_report_json);
  write_to(trace, arguments.trace, write_chrome_trace);
  bar.clear();
  attempt(
      [&] { guard(ErrorKind::failed, "writing the report", [&] { print(report_text(report)); }); });
  for (const ScenarioReport& s : report.scenarios) {
    if (!s.error.empty()) print_error("troupe: scenario '{}': {}", s.name, s.error);
    if (!s.mismatch.empty()) print_error("troupe: scenario '{}': {}", s.name, s.mismatch);
  }
  if (report.interrupted) print_error("troupe: interrupted");
  const int code = report.interrupted ? exit_failed : exit_code(report);
  // Kernels may be under way, which the Run would wait for, or what was sent to a node that is
  // lost.
  if (interrupted() || (nodes.cluster && nodes.cluster->has_lost_node())) {
    if (failure) print_error("troupe: {}", failure->what());
    leave(failure ? exit_failed : code);
  }
  if (failure) throw *failure;
  return code;
}

// Returns why the file can't be run in this mode, or none if it can.
std::optional<Error> refusal_in(Mode mode, const std::string& path, RunFile& file) {
  try {
    const std::string ops = format_count(file.graph.size(), "op");
    guard(ErrorKind::usage, fmt::format("planning {} of {}", ops, path), [&] {
      complete_for(mode, file);
      const Run run(file.machine, file.graph, file.scenarios, {.mode = mode, .saves = file.saves});
      // If tensors will have values, makes a folder in each storage directory, and removes it.
      static_cast<void>(MemoryStore(file.machine, run.setting().backing));
    });
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace

int run_command(const RunArguments& arguments) {
  const bool names_nodes = !arguments.nodes.empty() || arguments.local_nodes > 0;
  const std::unique_ptr<Launch> launch = find_launch();
  if (launch == nullptr) {
    if (arguments.nodes.empty() && (arguments.tls.are_given() || arguments.trust_network)) {
      throw usage_error("--tls-cert and --trust-network are for nodes on other hosts",
                        "give --nodes, or start with srun or mpirun");
    }
    return carry_out(Mode::run, arguments);
  }
  if (names_nodes) {
    throw usage_error("the nodes are those that srun or mpirun has started",
                      "leave --nodes and --local-nodes out, or start one process");
  }
  LocalNodes node = start_launched_node(*launch, arguments);
  const std::vector<std::string> nodes = launch->exchange(node.addresses().front());
  if (launch->rank().number > 0) return serve_launched_node(node);
  RunArguments of_leader = arguments;
  of_leader.nodes = nodes;
  of_leader.awaits_nodes = true;
  return carry_out(Mode::run, of_leader);
}

int simulate_command(const RunArguments& arguments) {
  return carry_out(Mode::simulate, arguments);
}

int validate_command(const std::string& path, const std::vector<std::string>& libraries) {
  ProgressBar bar;
  bar.begin("loading " + path);
  const auto load = [&path](auto&& work) {
    return guard(ErrorKind::usage, "loading " + path, work);
  };
  const Document document = load([&] { return Document::load(path); });
  const OpRegistry ops = ops_with(libraries);
  if (is_machine_file(document)) {
    const Machine machine = load([&] { return read_machine_file(document, ops); });
    bar.clear();
    print(fmt::format("{}: a valid machine file: {}, {}, {}\n", visible(path),
                      format_count(machine.devices.size(), "device"),
                      machine.memories.size() == 1
                          ? "1 memory"
                          : fmt::format("{} memories", machine.memories.size()),
                      format_count(machine.links.size(), "link")));
    return exit_done;
  }
  RunFile file = load([&] { return read_run_file(document, ops); });
  bar.begin("planning " + path);
  const std::optional<Error> simulation = refusal_in(Mode::simulate, path, file);
  const std::optional<Error> execution = refusal_in(Mode::run, path, file);
  if (simulation && execution) throw *simulation;
  bar.clear();
  const auto verdict = [](const char* what, const std::optional<Error>& refusal) {
    return refusal ? fmt::format("  can't {}: {}\n", what, visible(refusal->what()))
                   : fmt::format("  can {}\n", what);
  };
  print(fmt::format(
      "{}: a valid run file: {}, {}\n{}{}", visible(path), format_count(file.graph.size(), "op"),
      format_count(file.scenarios.size(), "scenario"), verdict("be simulated", simulation),
      verdict("run on this machine", execution)));
  return exit_done;
}

int machine_command() {
  print(describe_yaml(discover_host()));
  return exit_done;
}

}  // namespace troupe
