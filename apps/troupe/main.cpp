// troupe: runs and simulates computation graphs. See README.md.
#include "actors/run_setting.hpp"
#include "apps/troupe/command_parts.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/interrupts.hpp"
#include "apps/troupe/last_resort.hpp"
#include "apps/troupe/print_error.hpp"
#include "apps/troupe/refused_words.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/version.hpp"
#include "core/network/host_port.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

// Returns what is wrong with the text of a seed, or an empty string. CLI11 alone would read -1 as
// 2^64-1, and a larger number as that.
std::string seed_error(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, seed);
  if (status == std::errc{} && rest == end) return {};
  return fmt::format("'{}' is not a whole number from 0 to 2^64-1", text);
}

// CLI::Range lets "nan" through.
CLI::Validator in_range(double low, double high) {
  const auto refuse_nan = [](std::string& text) {
    const bool is_nan = std::isnan(std::strtod(text.c_str(), nullptr));
    return is_nan ? fmt::format("'{}' is not a number", text) : std::string();
  };
  return CLI::Range(low, high) & CLI::Validator(refuse_nan, "");
}

std::string path_error(const std::string& text) {
  return text.empty() ? "the path is empty" : "";
}

// "-" is what people write for standard output.
CLI::Validator dash_as_output() {
  const auto name = [](std::string& text) {
    if (text == "-") text = troupe::stdout_path;
    return std::string();
  };
  return {name, ""};
}

// CLI11 would take the argument after "--scenario=" for its value, though it may be FILE.
void check_values(std::span<char* const> arguments) {
  for (const std::string_view argument : arguments) {
    if (argument == "--") return;
    if (!argument.starts_with("--") || argument.find('=') != argument.size() - 1) continue;
    throw troupe::usage_error(fmt::format("there is nothing after the '=' of '{}'", argument),
                              "write the value right behind it, or leave the '=' out");
  }
}

void add_ops_option(CLI::App& command, std::vector<std::string>& libraries) {
  command
      .add_option("--ops", libraries,
                  "A shared library with op kinds of your own (may be given several times)")
      ->option_text("LIBRARY")
      ->check(path_error)
      ->allow_extra_args(false);
}

void add_run_options(CLI::App& command, troupe::RunArguments& arguments) {
  command.add_option("FILE", arguments.file, "A run file, e.g. config/runs/quickstart.yaml")
      ->required();
  command
      .add_option("--json", arguments.json, "Write the report as JSON to this path, or - (stdout)")
      ->option_text("PATH")
      ->transform(dash_as_output())
      ->check(path_error);
  command
      .add_option("--trace", arguments.trace,
                  "Write a Chrome trace (open it in Perfetto) to this path")
      ->option_text("PATH")
      ->transform(dash_as_output())
      ->check(path_error);
  command
      .add_option("--scenario", arguments.scenarios,
                  "Only the scenario of this name (may be given several times)")
      ->option_text("NAME")
      ->allow_extra_args(false);
  command
      .add_option("--map", arguments.map,
                  "Let a CPU stand in for a device, e.g. gpu0=cpu0 (may be given several times)")
      ->option_text("DEVICE=CPU")
      ->allow_extra_args(false);
  add_ops_option(command, arguments.ops);
  command
      .add_option("--seed", arguments.seed,
                  "Order of concurrent messages in a simulation; 0, the default, is first come "
                  "first served")
      ->option_text("N")
      ->check(seed_error);
  command.add_flag("--verbose", arguments.verbose,
                   "Also say which backend each resource has and how long each phase took");
}

CLI::Option* add_node_timeout(CLI::App& command, double& seconds, const std::string& who) {
  return command
      .add_option(
          "--node-timeout", seconds,
          fmt::format("After how many seconds of silence a {} is gone; default {}", who, seconds))
      ->option_text("SECONDS")
      ->check(in_range(0.5, troupe::node_timeout_max_s));  // heartbeats may come every 0.2 s
}

CLI::Option* add_loss_option(CLI::App& command, troupe::RunArguments& arguments) {
  return command
      .add_option("--on-loss", arguments.on_loss,
                  "When a node is lost: replan, the default, makes again on the others what is "
                  "missing; wait, or wait:30s, does so when another one has taken its place; fail")
      ->option_text("POLICY");
}

void add_checkpoint_options(CLI::App& command, troupe::RunArguments& arguments) {
  command
      .add_option("--checkpoint", arguments.checkpoint_s,
                  "Keep what has been made in a file, so many seconds after the last time")
      ->option_text("SECONDS")
      ->check(in_range(0.1, 1e9));
  CLI::Option* const folder =
      command
          .add_option("--checkpoint-dir", arguments.checkpoint_folder, "The folder for these files")
          ->option_text("DIR")
          ->check(path_error)
          ->needs("--checkpoint");
  command
      .add_option_function<std::string>(
          "--resume",
          [&](const std::string& path) {
            arguments.checkpoint_folder = path;
            arguments.resumes = true;
          },
          "Go on from the last of these files; with --checkpoint, further ones are written there")
      ->option_text("DIR")
      ->check(path_error)
      ->excludes(folder);
}

void add_tls_options(CLI::App& command, troupe::TlsFiles& files) {
  CLI::Option* const certificate =
      command.add_option("--tls-cert", files.certificate, "The certificate of this side, in PEM");
  CLI::Option* const key = command.add_option("--tls-key", files.key, "Its key");
  CLI::Option* const authority = command.add_option(
      "--tls-ca", files.authority, "The authority that has signed it, and those of the others");
  for (CLI::Option* const option : {certificate, key, authority}) {
    option->option_text("PATH")->check(path_error);
    for (CLI::Option* const other : {certificate, key, authority}) {
      if (other != option) option->needs(other);
    }
  }
}

// The option makes sense with several nodes only.
void needs_nodes(CLI::Option* option, troupe::RunArguments& arguments) {
  option->each([name = option->get_name(), &arguments](const std::string&) {
    arguments.for_nodes.push_back(name);
  });
}

// Of "a:1, b:2": both. CLI11 would pass over what is empty.
std::vector<std::string> read_addresses(const std::string& list) {
  std::vector<std::string> addresses = troupe::split_addresses(list);
  if (std::ranges::find(addresses, "") != addresses.end()) {
    throw CLI::ValidationError(
        "--nodes", fmt::format("there is an address too few in '{}': name HOST:PORT of each node, "
                               "with a comma between two",
                               troupe::visible(list)));
  }
  return addresses;
}

template <class Flag>
CLI::Option* add_transport(CLI::App& command, Flag& shared_memory) {
  return command
      .add_option_function<std::string>(
          "--transport", [&](const std::string& name) { shared_memory = name == "shared-memory"; },
          "How tensors go from node to node: tcp, the default, or shared-memory")
      ->option_text("NAME")
      ->check(CLI::IsMember({"tcp", "shared-memory"}));
}

// Where a run file is to run, or be checked.
void add_nodes_options(CLI::App& command, troupe::RunArguments& arguments) {
  command
      .add_option_function<std::vector<std::string>>(
          "--nodes",
          [&](const std::vector<std::string>& lists) {
            for (const std::string& list : lists) {
              const std::vector<std::string> addresses = read_addresses(list);
              arguments.nodes.insert(arguments.nodes.end(), addresses.begin(), addresses.end());
            }
          },
          "On these nodes, e.g. 10.0.0.1:7420,10.0.0.2:7420 (`troupe node` on each)")
      ->option_text("NODES")
      ->allow_extra_args(false);
  command
      .add_option("--local-nodes", arguments.local_nodes,
                  "On so many node processes, which are started on this host")
      ->option_text("N")
      ->check(CLI::Range(1, static_cast<int>(troupe::local_nodes_max)))
      ->excludes("--nodes");
  CLI::Option* const transport = add_transport(command, arguments.shared_memory);
  CLI::Option* const connect_timeout =
      command
          .add_option("--connect-timeout", arguments.connect_timeout_s,
                      fmt::format("After how many seconds a node that doesn't answer can't be "
                                  "reached; default {}",
                                  arguments.connect_timeout_s))
          ->option_text("SECONDS")
          ->check(in_range(0.1, 86400.0));
  CLI::Option* const node_timeout = add_node_timeout(command, arguments.node_timeout_s, "node");
  for (CLI::Option* const option : {transport, connect_timeout, node_timeout}) {
    needs_nodes(option, arguments);
  }
  add_tls_options(command, arguments.tls);
}

void add_node_options(CLI::App& command, troupe::NodeArguments& arguments) {
  command
      .add_option("--listen", arguments.listen,
                  fmt::format("Where leaders reach it; port 0: any that is free; default {}",
                              arguments.listen))
      ->option_text("HOST:PORT");
  command.add_option("--name", arguments.name, "Name of the node; else n0, n1, … by its place")
      ->option_text("NAME");
  command.add_option("--devices", arguments.devices, "CPU devices; 0: one for each NUMA node")
      ->option_text("N")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--streams", arguments.streams,
                  "Ops that each may run at once, on a part of its cores each; 0: one for each "
                  "core; default 1")
      ->option_text("N")
      ->check(CLI::Range(0, troupe::Device::streams_max));
  command.add_flag("--storage", arguments.storage, "Also lend a disk, by a temporary directory");
  command.add_flag("--no-gpus", arguments.no_gpus, "Lend no GPU, even to a run that asks for them");
  command
      .add_option("--memory-share", arguments.memory_share,
                  "The share of this host's memory, and of its GPUs'; default 1")
      ->option_text("X")
      ->check(in_range(0.001, 1.0));
  add_node_timeout(command, arguments.node_timeout_s, "leader");
  command.add_flag("--once", arguments.once, "End when the first leader is done");
  command
      .add_option("--leader-timeout", arguments.leader_timeout_s,
                  "End when no leader has come for so long; 0, the default: never")
      ->option_text("SECONDS")
      ->check(in_range(0.0, 1e6));  // several times the longest --connect-timeout
  add_tls_options(command, arguments.tls);
  command.add_flag("--trust-network", arguments.trust_network,
                   "The network is closed, or encrypted by other means: listen on it without TLS; "
                   "with TLS, send tensors without it, which is faster");
  command
      .add_option("--make-certs", arguments.make_certificates,
                  "Only make the files for --tls-cert, --tls-key and --tls-ca in this folder")
      ->option_text("DIR")
      ->check(path_error);
  add_ops_option(command, arguments.ops);
}

// How many words are troupe's: all of them, or those before the program that it is to launch, or
// before a "--" there.
std::size_t count_own(const std::vector<char*>& words) {
  if (words.size() < 2 || std::string_view(words[1]) != "launch") return words.size();
  std::size_t at = 2;
  while (at < words.size() && std::string_view(words[at]).starts_with("--")) {
    const std::string_view option = words[at];
    if (option == "--") return at;
    at += option.find('=') == std::string_view::npos ? 2 : 1;  // with its value
  }
  return std::min(at, words.size());
}

void add_launch_options(CLI::App& command, troupe::LaunchArguments& arguments) {
  command
      .add_option("--local-nodes", arguments.local_nodes,
                  "Start so many node processes on this host")
      ->option_text("N")
      ->check(CLI::Range(1, static_cast<int>(troupe::local_nodes_max)));
  add_transport(command, arguments.shared_memory);
  add_node_timeout(command, arguments.node_timeout_s, "program that is stopped");
  add_ops_option(command, arguments.ops);
  command.prefix_command();
  command.footer("PROGRAM and its arguments follow: troupe launch --local-nodes 2 ./program 100");
}

// A node has up to three connections to each of the others, and the usual limit is 1,024
// descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Runs the command that the command line names. Returns the exit code.
int run_program(int argc, char** argv) {
  CLI::App app{
      "Troupe runs a computation graph on the devices and links of a machine, and predicts "
      "that run on machines you don't have, with the same actors."};
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("troupe {}", troupe::version));
  troupe::RunArguments arguments;
  CLI::App* run = app.add_subcommand("run", "Run the scenarios of a run file on this machine");
  add_run_options(*run, arguments);
  run->add_flag("--no-verify", arguments.no_verify,
                "Don't compare the results with a serial execution");
  run->add_flag("--no-cuda-graphs", arguments.no_cuda_graphs,
                "Launch each op on a GPU by itself; else short ones are launched together");
  add_nodes_options(*run, arguments);
  needs_nodes(add_loss_option(*run, arguments), arguments);
  add_checkpoint_options(*run, arguments);
  run->add_flag("--trust-network", arguments.trust_network,
                "Under srun or mpirun: as that of `troupe node`");
  run->add_option("--interface", arguments.interface,
                  "Under srun or mpirun on several hosts: the network interface of the nodes")
      ->option_text("NAME");
  CLI::App* simulate = app.add_subcommand(
      "simulate", "Predict how long a run file's scenarios take on the machine that it describes");
  add_run_options(*simulate, arguments);
  simulate
      ->add_option("--lose", arguments.losses,
                   "Lose this node so long after a scenario has begun, e.g. n1@500ms (repeatable)")
      ->option_text("NODE@TIME")
      ->allow_extra_args(false);
  needs_nodes(add_loss_option(*simulate, arguments), arguments);
  CLI::App* validate = app.add_subcommand("validate", "Check a run file or a machine file");
  validate->add_option("FILE", arguments.file, "The file to check")->required();
  add_ops_option(*validate, arguments.ops);
  add_nodes_options(*validate, arguments);
  CLI::App* machine = app.add_subcommand("machine", "Print this machine as a machine file");
  CLI::App* ops = app.add_subcommand("ops", "List the op kinds, and what each takes");
  add_ops_option(*ops, arguments.ops);
  troupe::NodeArguments node_arguments;
  CLI::App* node = app.add_subcommand("node", "Lend this host's devices to runs");
  add_node_options(*node, node_arguments);
  troupe::LaunchArguments launch_arguments;
  CLI::App* launch = app.add_subcommand(
      "launch", "Run a program of your own whose sessions compute on nodes of this host");
  add_launch_options(*launch, launch_arguments);
  std::vector<char*> words(argv, argv + argc);
  const std::size_t own = count_own(words);
  check_values({words.data(), own});
  if (own < words.size() && std::string_view(words[own]) == "--") {
    // CLI11 would take the program behind it for troupe's own.
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(own));
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(asked, text);
    troupe::print(text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    return troupe::refuse(app, error);
  }
  // Programs that `launch` starts keep the limit that they would have.
  if (!launch->parsed()) raise_descriptor_limit();
  if (run->parsed()) return troupe::run_command(arguments);
  if (simulate->parsed()) return troupe::simulate_command(arguments);
  if (validate->parsed()) return troupe::validate_command(arguments);
  if (node->parsed()) return troupe::node_command(node_arguments);
  if (machine->parsed()) return troupe::machine_command();
  if (ops->parsed()) return troupe::ops_command(arguments.ops);
  if (launch->parsed()) {
    launch_arguments.command = launch->remaining();
    return troupe::launch_command(launch_arguments);
  }
  return troupe::exit_usage;
}

}  // namespace

int main(int argc, char** argv) {
  troupe::grow_stack();
  troupe::handle_signals();
  troupe::handle_uncaught_bad_alloc();
  troupe::handle_lost_pages();
  // If standard error were closed, the next file opened would get its number, and the messages. No
  // message is missed, but a report is: writing it to standard output is to fail.
  for (int fd = 0; fd < 3; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
  try {
    return run_program(argc, argv);
  } catch (const troupe::Error& error) {
    troupe::print_error("troupe: {}", error.what());
    return error.kind() == troupe::ErrorKind::usage ? troupe::exit_usage : troupe::exit_failed;
  } catch (const std::bad_alloc&) {
    troupe::print_out_of_memory();
    return troupe::exit_failed;
  } catch (const std::exception& error) {
    troupe::print_error("troupe: {}", error.what());
    return troupe::exit_failed;
  }
}
