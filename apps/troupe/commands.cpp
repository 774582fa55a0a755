#include "apps/troupe/commands.hpp"

#include "actors/run_setting.hpp"
#include "actors/runner.hpp"
#include "apps/troupe/command_parts.hpp"
#include "apps/troupe/guard.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/launch/launch.hpp"
#include "apps/troupe/launch/launched_node.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "apps/troupe/phases.hpp"
#include "apps/troupe/planned_run.hpp"
#include "apps/troupe/print_error.hpp"
#include "core/backend/usable_gpus.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"
#include "core/files/output_file.hpp"
#include "core/machine/discover.hpp"
#include "core/memory/memory_store.hpp"
#include "core/trace/writers.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

int exit_code(const Report& report) {
  for (const ScenarioReport& s : report.scenarios) {
    const bool is_done = s.outcome == Outcome::done || s.outcome == Outcome::done_before;
    if (!is_done || s.verified == false) return exit_failed;
  }
  return exit_done;
}

// Whether standard output is for JSON or a trace, and for nothing else.
bool takes_stdout(const RunArguments& arguments) {
  return is_stdout(arguments.json) || is_stdout(arguments.trace);
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

// Where a report goes, beside standard output.
struct Outputs {
  std::optional<OutputFile> json;
  std::optional<OutputFile> trace;

  Outputs(const RunArguments& arguments, const Run& run, Phases& phases) {
    phases.run(ErrorKind::usage, "opening the outputs of " + arguments.file, [&] {
      if (!arguments.json.empty()) json.emplace(arguments.json);
      if (!arguments.trace.empty()) trace.emplace(arguments.trace);
      // Not earlier: opening a named pipe waits for its reader, and a signal must end that at once.
      catch_interrupts();
      if (!arguments.verbose) return;
      for (const std::string& line : describe_backends(run.setting(), run.machine())) {
        phases.bar().print_line(line);
      }
    });
  }
};

// If an output fails, the others are written all the same. Returns the first error.
std::optional<Error> write_outputs(const Report& report, const RunArguments& arguments,
                                   Outputs& outputs, Phases& phases) {
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
      phases.run(ErrorKind::failed, "writing " + path, [&] {
        write(report, output->stream());
        output->commit();
      });
    });
  };
  write_to(outputs.json, arguments.json, write_report_json);
  write_to(outputs.trace, arguments.trace, write_chrome_trace);
  phases.bar().clear();
  attempt([&] {
    guard(ErrorKind::failed, "writing the report", [&] {
      if (takes_stdout(arguments)) return write_to_terminal(report_text(report));
      print(report_text(report));
    });
  });
  return failure;
}

void say_what_failed(const Report& report, RunNodes& nodes) {
  if (nodes.local) {
    // A node's connection closes a moment before its process has ended.
    const bool has_lost =
        nodes.cluster && nodes.cluster->has_ever_lost_node() && exit_code(report) != 0;
    const Duration patience = has_lost ? std::chrono::milliseconds(300) : Duration{};
    for (const std::string& end : nodes.local->take_ended(patience)) {
      print_error("troupe: {}", end);
    }
  }
  for (const ScenarioReport& s : report.scenarios) {
    if (!s.error.empty()) print_error("troupe: scenario '{}': {}", s.name, s.error);
    if (!s.mismatch.empty()) print_error("troupe: scenario '{}': {}", s.name, s.mismatch);
  }
  if (report.interrupted) print_error("troupe: interrupted");
}

// `launch`: what has started this process as one of several ranks.
int carry_out(Mode mode, const RunArguments& arguments, std::unique_ptr<Launch> launch = nullptr) {
  Phases phases(arguments.verbose);
  PlannedRun planned(mode, arguments, phases);
  Run& run = *planned.run;
  RunNodes& nodes = planned.nodes;
  Outputs outputs(arguments, run, phases);

  Report report =
      guard(ErrorKind::failed, "running " + arguments.file, [&] { return run.perform(); });
  if (!report.interrupted) limit_interrupted_time();
  report.title = planned.file.title;
  const std::vector<std::string>& notes = planned.file.notes;
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  std::size_t finished = 0;
  for (const ScenarioReport& s : report.scenarios) finished += s.ops;
  phases.ended(run.setting().name_past, finished);

  const std::optional<Error> failure = write_outputs(report, arguments, outputs, phases);
  say_what_failed(report, nodes);
  const int code = report.interrupted ? exit_failed : exit_code(report);
  // Kernels may be under way, which the Run would wait for, or what was sent to a node that is
  // lost.
  if (interrupted() || (nodes.cluster && nodes.cluster->has_ever_lost_node())) {
    if (failure) print_error("troupe: {}", failure->what());
    if (nodes.local) {
      nodes.local->stop();
    } else if (nodes.cluster) {
      nodes.cluster->say_goodbye();
    }
    if (!interrupted()) launch.reset();  // which takes ranks that end without a word for failed
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
      if (computes_values(mode)) check_data(file);
      const Run run(file.machine, file.graph, file.scenarios, {.mode = mode, .saves = file.saves});
      // If tensors will have values, makes a folder in each storage directory, and removes it.
      static_cast<void>(MemoryStore(run.machine(), run.setting().backing));
    });
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

Error neither(const Error& simulation, const Error& execution) {
  if (std::string_view(simulation.what()) == execution.what()) return simulation;
  std::string remedy = execution.remedy();
  const std::string simulate(how_to_simulate);
  const std::string other = "; or ";
  for (const std::string& useless : {simulate + other, other + simulate, simulate}) {
    const std::size_t at = remedy.find(useless);
    if (at != std::string::npos) remedy.erase(at, useless.size());
  }
  const Error why_not_run(execution.kind(), execution.place(), execution.problem(), remedy);
  return usage_error(simulation.place(), simulation.problem() + ", so it can't be simulated",
                     simulation.remedy() + "; nor can it run here: " + why_not_run.what());
}

int validate_here(const std::string& path, const std::vector<std::string>& libraries) {
  ProgressBar bar;
  bar.begin("loading " + path);
  const auto load = [&path](auto&& work) {
    return guard(ErrorKind::usage, "loading " + path, work);
  };
  const Document document = load([&] { return Document::load(path); });
  const OpRegistry ops = ops_with(libraries);
  if (is_machine_file(document)) {
    const Machine machine = load([&] { return read_machine_file(document, ops, usable_gpus); });
    bar.clear();
    print(fmt::format("{}: a valid machine file: {}, {}, {}\n", visible(path),
                      format_count(machine.devices.size(), "device"),
                      machine.memories.size() == 1
                          ? "1 memory"
                          : fmt::format("{} memories", machine.memories.size()),
                      format_count(machine.links.size(), "link")));
    return exit_done;
  }
  RunFile file = load([&] { return read_run_file(document, ops, nullptr, usable_gpus); });
  bar.begin("planning " + path);
  const std::optional<Error> simulation = refusal_in(Mode::simulate, path, file);
  const std::optional<Error> execution = refusal_in(Mode::run, path, file);
  if (simulation && execution) throw neither(*simulation, *execution);
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

// As far as a run goes before its first op.
int validate_on_nodes(const RunArguments& arguments) {
  Phases phases(arguments.verbose);
  PlannedRun planned(Mode::run, arguments, phases);
  const Machine& machine = planned.file.machine;
  phases.run(ErrorKind::usage, "asking the nodes", [&] { planned.nodes.cluster->check(machine); });
  phases.bar().clear();
  print(fmt::format("{}: a valid run file: {}, {}\n  can run on {} with {}\n",
                    visible(arguments.file), format_count(planned.file.graph.size(), "op"),
                    format_count(planned.scenarios.size(), "scenario"),
                    format_count(machine.nodes.size(), "node"),
                    format_count(machine.devices.size(), "device")));
  for (const std::string& note : planned.file.notes) print(fmt::format("  {}\n", visible(note)));
  return exit_done;
}

bool names_nodes(const RunArguments& arguments) {
  return !arguments.nodes.empty() || arguments.local_nodes > 0;
}

// Of a process that isn't one of several ranks. A script may start any number of ranks, one of them
// included, with the same options.
void check_nodes_options(const RunArguments& arguments) {
  parse_loss_policy(arguments.on_loss);  // what it says must be right in any case
  if (!arguments.for_nodes.empty() && !names_nodes(arguments) && !is_launched()) {
    throw usage_error(fmt::format("{} is for runs on several nodes", arguments.for_nodes.front()),
                      "give --nodes or --local-nodes too, or start with srun or mpirun");
  }
  if (!arguments.interface.empty() && !is_launched()) {
    throw usage_error("--interface is for nodes that srun or mpirun has started",
                      "start with one of them, or leave it out");
  }
  if (!arguments.nodes.empty() || (!arguments.tls.are_given() && !arguments.trust_network)) return;
  throw usage_error("--tls-cert and --trust-network are for nodes on other hosts",
                    "give --nodes, or start with srun or mpirun");
}

}  // namespace

int run_command(const RunArguments& arguments) {
  std::unique_ptr<Launch> launch = find_launch();
  if (launch == nullptr) {
    check_nodes_options(arguments);
    return carry_out(Mode::run, arguments);
  }
  if (names_nodes(arguments)) {
    throw usage_error("the nodes are those that srun or mpirun has started",
                      "leave --nodes and --local-nodes out, or start one process");
  }
  if (parse_loss_policy(arguments.on_loss).on_loss == OnLoss::wait) {
    throw usage_error("--on-loss wait: srun and mpirun start no process again",
                      "leave it out, so that the others go on; or start `troupe node` on each host "
                      "and give --nodes to one process");
  }
  LocalNodes node = start_launched_node(*launch, arguments);
  const std::vector<std::string> nodes =
      launch->exchange(node.addresses().front(), patience_with_ranks(arguments));
  if (launch->rank().number > 0) return serve_launched_node(node);
  RunArguments of_leader = arguments;
  of_leader.nodes = nodes;
  of_leader.awaits_nodes = true;
  return carry_out(Mode::run, of_leader, std::move(launch));
}

int simulate_command(const RunArguments& arguments) {
  parse_loss_policy(arguments.on_loss);
  if (!arguments.for_nodes.empty() && arguments.losses.empty()) {
    throw usage_error(
        fmt::format("{} is for nodes that are lost, and none is", arguments.for_nodes.front()),
        "lose one, with --lose n1@500ms");
  }
  return carry_out(Mode::simulate, arguments);
}

int validate_command(const RunArguments& arguments) {
  check_nodes_options(arguments);
  return names_nodes(arguments) ? validate_on_nodes(arguments)
                                : validate_here(arguments.file, arguments.ops);
}

int machine_command() {
  print(describe_yaml(discover_host(), usable_gpus()));
  return exit_done;
}

}  // namespace troupe
