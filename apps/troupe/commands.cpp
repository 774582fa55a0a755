#include "apps/troupe/commands.hpp"

#include "actors/nodes/cluster.hpp"
#include "actors/nodes/node_server.hpp"
#include "actors/runner.hpp"
#include "apps/troupe/guard.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/local_nodes.hpp"
#include "apps/troupe/print_error.hpp"
#include "apps/troupe/progress_bar.hpp"
#include "core/backend/memory_store.hpp"
#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/config/machine_file.hpp"
#include "core/config/run_file.hpp"
#include "core/files/descriptor_stream.hpp"
#include "core/files/output_file.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/local_cores.hpp"
#include "core/network/host_port.hpp"
#include "core/network/make_certificates.hpp"
#include "core/network/tls_context.hpp"
#include "core/ops/op_library.hpp"
#include "core/patterns/point_task.hpp"
#include "core/trace/writers.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

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
  throw run_error(fmt::format("could not write to standard output: {}", system_message(error)),
                  "free some space, or keep the reader of the pipe open");
}

int exit_code(const Report& report) {
  for (const ScenarioReport& s : report.scenarios) {
    if (s.outcome != Outcome::done || s.verified == false) return exit_failed;
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

// The kinds that a run file may use.
OpRegistry ops_with(const std::vector<std::string>& libraries) {
  OpRegistry ops = pattern_ops();
  for (const std::string& library : libraries) load_op_library(library, ops);
  return ops;
}

std::optional<TlsContext> tls_context(const TlsFiles& files) {
  if (!files.are_given()) return std::nullopt;
  return TlsContext(files);
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
    cluster.emplace(ops, ClusterOptions{.addresses = addresses,
                                        .node_timeout = from_seconds(arguments.node_timeout_s),
                                        .uses_shared_memory = arguments.shared_memory,
                                        .tls = tls_context(arguments.tls),
                                        .interrupted = &interrupted()});
  }
  const Machine* machine() const { return cluster ? &cluster->machine() : nullptr; }
};

// "n1@500ms"
NodeLoss parse_loss(const std::string& text, const Machine& machine) {
  const std::size_t at = text.find('@');
  if (at == std::string::npos) {
    throw usage_error(fmt::format("--lose takes NODE@TIME, and '{}' is not that", shortened(text)),
                      "write for example --lose n1@500ms");
  }
  const std::string name = text.substr(0, at);
  const std::vector<std::string_view> names(machine.nodes.begin(), machine.nodes.end());
  const auto node = std::find(names.begin(), names.end(), name);
  if (node == names.end()) {
    throw usage_error(fmt::format("--lose names the node '{}', which '{}' doesn't have",
                                  shortened(name), machine.name),
                      names.empty() ? "give the machine nodes" : suggestion(name, names));
  }
  return {.node = NodeId::at(static_cast<std::size_t>(node - names.begin())),
          .after = parse_duration(std::string_view(text).substr(at + 1))};
}

// Sorted by time.
std::vector<NodeLoss> parse_losses(const std::vector<std::string>& texts, const Machine& machine) {
  std::vector<NodeLoss> losses;
  for (const std::string& text : texts) {
    const NodeLoss loss = parse_loss(text, machine);
    for (const NodeLoss& other : losses) {
      if (other.node != loss.node) continue;
      throw usage_error(
          fmt::format("--lose names the node '{}' twice", machine.nodes[loss.node.index()]),
          "name each once");
    }
    losses.push_back(loss);
  }
  std::sort(losses.begin(), losses.end(),
            [](const NodeLoss& a, const NodeLoss& b) { return a.after < b.after; });
  return losses;
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
  return carry_out(Mode::run, arguments);
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

namespace {

int make_certificates_command(const std::string& folder) {
  make_certificates(folder);
  print(fmt::format(
      "made ca.pem, node.pem and node.key in {0}: copy them to all nodes and to the leader, and "
      "give them --tls-cert {0}/node.pem --tls-key {0}/node.key --tls-ca {0}/ca.pem\n",
      visible(folder)));
  return exit_done;
}

// Says which connections were refused, one a second at most.
class RefusalLog {
 public:
  void add(const std::string& peer, const std::string& cause) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      ++unsaid_;
      return;
    }
    next_ = now + std::chrono::seconds(1);
    print_error("troupe: refused a connection from {}: {}{}", peer, cause,
                unsaid_ == 0 ? "" : fmt::format(" (and {} before)", std::exchange(unsaid_, 0)));
  }

 private:
  std::chrono::steady_clock::time_point next_;
  std::uint64_t unsaid_ = 0;
};

}  // namespace

int node_command(const NodeArguments& arguments) {
  if (!arguments.make_certificates.empty()) {
    return make_certificates_command(arguments.make_certificates);
  }
  const OpRegistry ops = ops_with(arguments.ops);
  const HostPort at = read_host_port(arguments.listen);
  RefusalLog refusals;
  NodeServer server(ops,
                    {.host = at.host,
                     .port = at.port,
                     .name = arguments.name,
                     .once = arguments.once,
                     .machine = {.cpu_devices = arguments.devices, .storage = arguments.storage},
                     .memory_share = arguments.memory_share,
                     .node_timeout = from_seconds(arguments.node_timeout_s),
                     .tls = tls_context(arguments.tls),
                     .trusts_network = arguments.trust_network,
                     .on_refused = [&refusals](const std::string& peer, const std::string& cause) {
                       refusals.add(peer, cause);
                     }});
  const char* const safety = !arguments.tls.are_given() ? ""
                             : server.uses_tls_for_tensors()
                                 ? ", with TLS; tensors go over TLS, too, slower than by UCX"
                                 : ", with TLS; tensors go by UCX, which isn't encrypted";
  print(fmt::format("listening on {}:{}{}\n", at.host, server.port(), safety));
  catch_interrupts();
  while (!interrupted() && !server.wait(std::chrono::milliseconds(50))) {
  }
  leave(exit_done);  // kernels may be under way, which nobody waits for
}

int machine_command() {
  print(describe_yaml(discover_host()));
  return exit_done;
}

}  // namespace troupe
