#include "apps/troupe/commands.hpp"

#include "actors/runner.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/output_file.hpp"
#include "apps/troupe/print_error.hpp"
#include "apps/troupe/progress_bar.hpp"
#include "core/backend/registry.hpp"
#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/units.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/local_cores.hpp"
#include "core/trace/writers.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>

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

void print(const std::string& text) {
  std::cout << text << std::flush;
  if (!std::cout) throw run_error("could not write to standard output");
}

int exit_code(const Report& report) {
  for (const ScenarioReport& s : report.scenarios) {
    if (s.outcome != Outcome::done || s.verified == false) return exit_failed;
  }
  return exit_done;
}

std::string describe_backends(Mode mode, const Machine& machine) {
  std::string lines;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const Device& device = machine.devices[d];
    lines += fmt::format("device {}: backend {}{}\n", device.name,
                         choose_backend(mode, machine, DeviceId::at(d)).name,
                         mode == Mode::run && !device.cores.empty()
                             ? fmt::format(", cores {}", fmt::join(device.cores, " "))
                             : "");
  }
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    lines += fmt::format("link {}: backend {}\n", machine.links[l].name,
                         choose_backend(mode, machine, LinkId::at(l)).name);
  }
  return lines;
}

// Fills in what a machine file may leave to the machine that really runs it.
void complete_for_this_host(Machine& machine) {
  assign_cores(machine, discover_host());
  measure_storage(machine);
}

// How long each stage of the program took, on standard error where `verbose`.
class StageTimes {
 public:
  StageTimes(bool verbose, ProgressBar& bar) : verbose_(verbose), bar_(bar) {}

  // The stage that has just ended; `ops` of what it worked on.
  void ended(const char* stage, std::uint64_t ops) {
    const auto now = std::chrono::steady_clock::now();
    const auto taken = std::chrono::duration_cast<Duration>(now - since_);
    since_ = now;
    if (!verbose_) return;
    std::string line = fmt::format("{} {} ops in {}", stage, ops, format_duration(taken));
    if (ops > 0)
      line += fmt::format(", {} ns each", taken.count() / static_cast<std::int64_t>(ops));
    bar_.say(line + "\n");
  }

 private:
  bool verbose_;
  ProgressBar& bar_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Refuses outputs that would overwrite each other or what was read.
void check_outputs(const RunArguments& arguments, const RunFile& file) {
  const auto same = [](const std::string& a, const std::string& b) {
    std::error_code ignored;  // neither can be the other where one can't be looked at
    return !a.empty() && !b.empty() &&
           (std::filesystem::equivalent(a, b, ignored) ||
            std::filesystem::absolute(a, ignored).lexically_normal() ==
                std::filesystem::absolute(b, ignored).lexically_normal());
  };
  const auto is_shared = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_other(path, ignored);  // /dev/stdout, /dev/null, a pipe
  };
  for (const std::string& output : {arguments.json, arguments.trace}) {
    for (const std::string& input : {arguments.file, file.machine_file.string()}) {
      if (!same(output, input)) continue;
      throw usage_error(fmt::format("'{}' is the {} file, and would be overwritten", output,
                                    same(output, arguments.file) ? "run" : "machine"),
                        "give another path for the output");
    }
  }
  if (same(arguments.json, arguments.trace) && !is_shared(arguments.json)) {
    throw usage_error(fmt::format("--json and --trace both write '{}'", arguments.json),
                      "give each a path of its own");
  }
}

int carry_out(Mode mode, const RunArguments& arguments) {
  ProgressBar bar;
  StageTimes times(arguments.verbose, bar);
  bar.begin("loading " + arguments.file);
  RunFile file = load_run_file(arguments.file);
  times.ended("loaded", file.graph.size());
  check_outputs(arguments, file);
  for (const std::string& mapping : arguments.map) {
    map_device(file.machine, mapping, discover_host());
  }
  if (mode == Mode::run) complete_for_this_host(file.machine);
  const std::vector<Scenario> scenarios = chosen_scenarios(file, arguments.scenarios);
  bar.begin("planning " + arguments.file);
  Run run(file.machine, file.graph, scenarios,
          {.mode = mode,
           .seed = arguments.seed,
           .verify = !arguments.no_verify,
           .interrupted = &interrupted(),
           .on_progress = [&bar](const RunProgress& progress) { bar.show(progress); }});
  times.ended("planned", run.op_count());
  std::optional<OutputFile> json;
  std::optional<OutputFile> trace;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  if (!arguments.trace.empty()) trace.emplace(arguments.trace);
  catch_interrupts();  // opening a pipe may have waited for its reader, and could be ended
  if (arguments.verbose) bar.say(describe_backends(mode, file.machine));

  Report report = run.perform();
  report.title = file.title;
  times.ended(mode == Mode::run ? "ran" : "simulated", run.op_count());
  // Whatever becomes of one of them, the others are written.
  std::optional<Error> failure;
  const auto attempt = [&failure](auto&& write) {
    try {
      write();
    } catch (const Error& error) {
      if (!failure) failure = error;
    }
  };
  attempt([&] {
    if (!json) return;
    bar.begin("writing " + arguments.json);
    write_report_json(report, json->stream());
    json->commit();
  });
  attempt([&] {
    if (!trace) return;
    bar.begin("writing " + arguments.trace);
    write_chrome_trace(report, trace->stream());
    trace->commit();
  });
  bar.clear();
  attempt([&] { print(report_text(report)); });
  for (const ScenarioReport& s : report.scenarios) {
    if (!s.error.empty()) print_error("troupe: scenario '{}': {}\n", s.name, s.error);
    if (!s.mismatch.empty()) print_error("troupe: scenario '{}': {}\n", s.name, s.mismatch);
  }
  if (report.interrupted) print_error("troupe: interrupted\n");
  if (failure) throw *failure;
  return report.interrupted ? exit_failed : exit_code(report);
}

// Why the file can't be carried out in this mode; none where it can.
std::optional<Error> refusal_in(Mode mode, RunFile& file) {
  try {
    if (mode == Mode::run) complete_for_this_host(file.machine);
    Run(file.machine, file.graph, file.scenarios, {.mode = mode});
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace

int run_command(const RunArguments& arguments) {
  return carry_out(Mode::run, arguments);
}

int simulate_command(const RunArguments& arguments) {
  return carry_out(Mode::simulate, arguments);
}

int validate_command(const std::string& path) {
  ProgressBar bar;
  bar.begin("loading " + path);
  if (is_machine_file(path)) {
    const Machine machine = load_machine_file(path);
    bar.clear();
    print(fmt::format("{}: a valid machine file: {}, {}, {}\n", path,
                      format_count(machine.devices.size(), "device"),
                      machine.memories.size() == 1
                          ? "1 memory"
                          : fmt::format("{} memories", machine.memories.size()),
                      format_count(machine.links.size(), "link")));
    return exit_done;
  }
  RunFile file = load_run_file(path);
  bar.begin("planning " + path);
  const std::optional<Error> simulation = refusal_in(Mode::simulate, file);
  const std::optional<Error> execution = refusal_in(Mode::run, file);
  if (simulation && execution) throw *simulation;
  bar.clear();
  print(fmt::format(
      "{}: a valid run file: {}, {}\n  can be simulated: {}\n"
      "  can run on this machine: {}\n",
      path, format_count(file.graph.size(), "op"), format_count(file.scenarios.size(), "scenario"),
      simulation ? simulation->what() : "yes", execution ? execution->what() : "yes"));
  return exit_done;
}

int machine_command() {
  print(describe_yaml(discover_host()));
  return exit_done;
}

}  // namespace troupe
