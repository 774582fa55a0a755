#include "apps/troupe/planned_run.hpp"

#include "apps/troupe/command_parts.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/losses.hpp"
#include "core/backend/usable_gpus.hpp"
#include "core/base/error.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/config/document.hpp"
#include "core/files/output_file.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/prepare_machine.hpp"

#include <filesystem>
#include <string>
#include <string_view>
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
    for (const std::string& library : arguments.ops) {
      if (!same(output, library)) continue;
      throw usage_error(fmt::format("'{}' is an op library, and would be overwritten", output),
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
  if (is_stdout(arguments.json) && is_stdout(arguments.trace)) {
    throw usage_error("--json and --trace both go to standard output", "send one to a file");
  }
  if (same(arguments.json, arguments.trace)) {
    throw usage_error(arguments.json == arguments.trace
                          ? fmt::format("--json and --trace both write '{}'", arguments.json)
                          : fmt::format("--json and --trace both write one file, '{}' and '{}'",
                                        arguments.json, arguments.trace),
                      "give each a path of its own");
  }
}

std::optional<Duration> checkpoint_interval(const RunArguments& arguments) {
  if (arguments.checkpoint_s == 0) return std::nullopt;
  return from_seconds(arguments.checkpoint_s);
}

void print_news(ProgressBar& bar, const std::string& news) {
  bar.print_line("troupe: " + news);
}

}  // namespace

RunNodes::RunNodes(const RunArguments& arguments, const OpRegistry& ops, ProgressBar& bar) {
  std::vector<std::string> addresses = arguments.nodes;
  if (arguments.local_nodes > 0) {
    const LocalNodesOptions own{.count = arguments.local_nodes,
                                .ops = arguments.ops,
                                .start_timeout = from_seconds(arguments.connect_timeout_s),
                                .node_timeout_s = arguments.node_timeout_s};
    addresses = local.emplace(own).addresses();
  }
  if (addresses.empty()) return;
  ClusterOptions options{.addresses = addresses,
                         .connect_timeout = from_seconds(arguments.connect_timeout_s),
                         .awaits_nodes = arguments.awaits_nodes,
                         .node_timeout = from_seconds(arguments.node_timeout_s),
                         .uses_shared_memory = arguments.shared_memory,
                         .tls = tls_context(arguments.tls),
                         .on_news = [&bar](const std::string& news) { print_news(bar, news); },
                         .interrupted = &interrupted()};
  if (local) {
    options.start_again = [this, &bar](NodeId node, Duration timeout) {
      for (const std::string& end : local->take_ended()) print_news(bar, end);
      return local->restart(node.index(), timeout);
    };
  }
  try {
    cluster.emplace(ops, options);
  } catch (const Error&) {  // it says by which address a node isn't reached, not that it has ended
    if (local) {
      for (const std::string& end : local->take_ended()) print_news(bar, end);
    }
    throw;
  }
}

PlannedRun::PlannedRun(Mode mode, const RunArguments& arguments, Phases& phases)
    : loss_policy(parse_loss_policy(arguments.on_loss)),
      ops(ops_with(arguments.ops)),
      nodes(phases.run(ErrorKind::usage, "getting the nodes",
                       [&] { return RunNodes(arguments, ops, phases.bar()); })),
      file(phases.run(ErrorKind::usage, "loading " + arguments.file,
                      [&] {
                        const Document document = Document::load(arguments.file);
                        if (nodes.cluster && asks_for_gpus(document)) nodes.cluster->add_gpus();
                        RunFile loaded = read_run_file(document, ops, nodes.machine(), usable_gpus);
                        phases.ended("loaded", loaded.graph.size());
                        return loaded;
                      })),
      scenarios(phases.run(ErrorKind::usage, "setting up " + arguments.file,
                           [&] {
                             check_outputs(arguments, file);
                             for (const std::string& mapping : arguments.map) {
                               const HostInfo host = discover_host();
                               map_device(file.machine, mapping,
                                          mode == Mode::run ? &host : nullptr);
                             }
                             if (arguments.no_cuda_graphs) {
                               for (Device& device : file.machine.devices) {
                                 device.cuda_graphs = false;
                               }
                             }
                             if (nodes.cluster) nodes.cluster->complete(file.machine);
                             if (computes_values(mode)) check_data(file);
                             return chosen_scenarios(file, arguments.scenarios);
                           })),
      checkpoints(phases.run(ErrorKind::usage, "looking for checkpoints",
                             [&] { return RunCheckpoints(arguments, file, scenarios); })) {
  const std::string count = format_count(file.graph.size(), "op");
  phases.run(ErrorKind::usage, fmt::format("planning {} of {}", count, arguments.file), [&] {
    run.emplace(
        file.machine, file.graph, scenarios,
        RunOptions{
            .mode = mode,
            .seed = arguments.seed,
            .verify = !arguments.no_verify,
            .interrupted = &interrupted(),
            .may_leave_out_saves = !arguments.scenarios.empty(),
            .saves = file.saves,
            .cluster = nodes.cluster ? &*nodes.cluster : nullptr,
            .on_loss = loss_policy.on_loss,
            .wait_max = loss_policy.wait_max,
            .losses = parse_losses(arguments.losses, file.machine),
            .checkpoints = checkpoints.folder ? &*checkpoints.folder : nullptr,
            .checkpoint_interval = checkpoint_interval(arguments),
            .resumed = checkpoints.resumed ? &*checkpoints.resumed : nullptr,
            .on_progress = [&phases](const RunProgress& progress) { phases.show(progress); },
            .on_news = [&phases](const std::string& news) { print_news(phases.bar(), news); }});
  });
  phases.ended("planned", run->op_count());
}

}  // namespace troupe
