#include "apps/troupe/commands.hpp"

#include "actors/runner.hpp"
#include "apps/troupe/descriptor_stream.hpp"
#include "apps/troupe/guard.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/output_file.hpp"
#include "apps/troupe/print_error.hpp"
#include "apps/troupe/progress_bar.hpp"
#include "core/backend/memory_store.hpp"
#include "core/backend/registry.hpp"
#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/local_cores.hpp"
#include "core/trace/writers.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

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
  DescriptorStream out(STDOUT_FILENO, false);
  out << text << std::flush;
  const int error = out.buffer().error();
  if (error == 0) return;
  throw run_error(
      fmt::format("could not write to standard output: {}", std::generic_category().message(error)),
      "free some space, or keep open what reads it");
}

int exit_code(const Report& report) {
  for (const ScenarioReport& s : report.scenarios) {
    if (s.outcome != Outcome::done || s.verified == false) return exit_failed;
  }
  return exit_done;
}

// A line for each device and link.
std::vector<std::string> describe_backends(Mode mode, const Machine& machine) {
  std::vector<std::string> lines;
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    const Device& device = machine.devices[d];
    lines.push_back(fmt::format("device {}: backend {}{}", device.name,
                                choose_backend(mode, machine, DeviceId::at(d)).name,
                                mode == Mode::run && !device.cores.empty()
                                    ? fmt::format(", cores {}", fmt::join(device.cores, " "))
                                    : ""));
  }
  for (std::size_t l = 0; l < machine.links.size(); ++l) {
    lines.push_back(fmt::format("link {}: backend {}", machine.links[l].name,
                                choose_backend(mode, machine, LinkId::at(l)).name));
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
    bar_.say(line);
  }

 private:
  bool verbose_;
  ProgressBar& bar_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// Refuses outputs that would overwrite each other, what was read, or standard output.
void check_outputs(const RunArguments& arguments, const RunFile& file) {
  const auto is_shared = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_other(path, ignored);  // a terminal, /dev/null, a pipe
  };
  const auto same = [&](const std::string& a, const std::string& b) {
    std::error_code ignored;  // neither can be the other where one can't be looked at
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

int carry_out(Mode mode, const RunArguments& arguments) {
  ProgressBar bar;
  StageTimes times(arguments.verbose, bar);
  // A phase before the run, or the run itself.
  const auto phase = [&](ErrorKind kind, const std::string& what, auto&& work) {
    bar.begin(what);
    return guard(kind, what, work);
  };
  RunFile file = phase(ErrorKind::usage, "loading " + arguments.file,
                       [&] { return load_run_file(arguments.file); });
  times.ended("loaded", file.graph.size());
  check_outputs(arguments, file);
  for (const std::string& mapping : arguments.map) {
    map_device(file.machine, mapping, discover_host());
  }
  if (mode == Mode::run) complete_for_this_host(file.machine);
  const std::vector<Scenario> scenarios = chosen_scenarios(file, arguments.scenarios);
  const std::string ops = format_count(file.graph.size(), "op");
  Run run = phase(ErrorKind::usage, fmt::format("planning {} of {}", ops, arguments.file), [&] {
    return Run(file.machine, file.graph, scenarios,
               {.mode = mode,
                .seed = arguments.seed,
                .verify = !arguments.no_verify,
                .interrupted = &interrupted(),
                .on_progress = [&bar](const RunProgress& progress) { bar.show(progress); }});
  });
  times.ended("planned", run.op_count());
  std::optional<OutputFile> json;
  std::optional<OutputFile> trace;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  if (!arguments.trace.empty()) trace.emplace(arguments.trace);
  catch_interrupts();  // opening a pipe may have waited for its reader, and could be ended
  if (arguments.verbose) {
    for (const std::string& line : describe_backends(mode, file.machine)) bar.say(line);
  }

  Report report =
      guard(ErrorKind::failed, "running " + arguments.file, [&] { return run.perform(); });
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
  if (failure) throw *failure;
  return report.interrupted ? exit_failed : exit_code(report);
}

// Why the file can't be carried out in this mode; none where it can.
std::optional<Error> refusal_in(Mode mode, const std::string& path, RunFile& file) {
  try {
    const std::string ops = format_count(file.graph.size(), "op");
    guard(ErrorKind::usage, fmt::format("planning {} of {}", ops, path), [&] {
      if (mode == Mode::run) complete_for_this_host(file.machine);
      Run(file.machine, file.graph, file.scenarios, {.mode = mode});
      // Makes a folder in each storage directory, and removes it.
      if (mode == Mode::run) MemoryStore(file.machine, MemoryStore::Backing::buffers);
    });
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
  const auto load = [&path](auto&& work) {
    return guard(ErrorKind::usage, "loading " + path, work);
  };
  const Document document = load([&] { return Document::load(path); });
  if (is_machine_file(document)) {
    const Machine machine = load([&] { return read_machine_file(document); });
    bar.clear();
    print(fmt::format("{}: a valid machine file: {}, {}, {}\n", visible(path),
                      format_count(machine.devices.size(), "device"),
                      machine.memories.size() == 1
                          ? "1 memory"
                          : fmt::format("{} memories", machine.memories.size()),
                      format_count(machine.links.size(), "link")));
    return exit_done;
  }
  RunFile file = load([&] { return read_run_file(document); });
  bar.begin("planning " + path);
  const std::optional<Error> simulation = refusal_in(Mode::simulate, path, file);
  const std::optional<Error> execution = refusal_in(Mode::run, path, file);
  if (simulation && execution) throw *simulation;
  bar.clear();
  print(
      fmt::format("{}: a valid run file: {}, {}\n  can be simulated: {}\n"
                  "  can run on this machine: {}\n",
                  visible(path), format_count(file.graph.size(), "op"),
                  format_count(file.scenarios.size(), "scenario"),
                  simulation ? simulation->what() : "yes", execution ? execution->what() : "yes"));
  return exit_done;
}

int machine_command() {
  print(describe_yaml(discover_host()));
  return exit_done;
}

}  // namespace troupe
