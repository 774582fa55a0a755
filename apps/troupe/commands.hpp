// The commands of the program. Each prints its result and returns the exit code, or throws an Error
// if it can't be completed (a bad file, an output that can't be written).
#pragma once

#include "core/network/tls_context.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

// A node or a leader that is silent for longer is gone.
inline constexpr double default_node_timeout_s = 10;
inline constexpr double node_timeout_max_s = 86400;
inline constexpr double default_connect_timeout_s = 10;

struct RunArguments {
  std::string file;
  std::string json;   // path, or empty
  std::string trace;  // path, or empty
  std::uint64_t seed = 0;
  std::vector<std::string> map;        // "gpu0=cpu0"
  std::vector<std::string> scenarios;  // by name; empty: all
  std::vector<std::string> ops;        // paths of libraries of op kinds
  std::vector<std::string> losses;     // "n1@500ms"; of `simulate` only
  std::string on_loss = "replan";      // or "fail", "wait", "wait:30s"

  // The rest is of `run` only, but for the nodes, which `validate` has, too, and `verbose`.
  std::vector<std::string> for_nodes;  // options that were given and say how nodes are used
  std::vector<std::string> nodes;      // "host:port"
  std::size_t local_nodes = 0;         // 0: none
  TlsFiles tls;                        // of nodes with TLS
  std::string interface = {};  // on which nodes listen that a launcher starts; empty: the first
  double node_timeout_s = default_node_timeout_s;
  double connect_timeout_s = default_connect_timeout_s;  // for each step of getting the nodes
  double checkpoint_s = 0;        // from one to the next; 0: none are written
  std::string checkpoint_folder;  // or empty

  bool no_verify = false;
  bool no_cuda_graphs = false;  // on any GPU
  bool verbose = false;
  bool shared_memory = false;  // between nodes; else TCP
  bool awaits_nodes = false;   // which are about to start
  bool trust_network = false;  // of the nodes that a launcher starts
  bool resumes = false;        // from the newest checkpoint in the folder
};

struct NodeArguments {
  std::string listen = "127.0.0.1:7420";
  std::string name;
  std::vector<std::string> ops;
  int devices = 0;  // 0: one for each NUMA node
  int streams = 1;  // of each; 0: one for each of its cores
  bool storage = false;
  bool no_gpus = false;
  bool once = false;
  bool trust_network = false;
  TlsFiles tls;
  std::string make_certificates;  // a folder to make them in, instead of all else; or empty
  double memory_share = 1;
  double node_timeout_s = default_node_timeout_s;
  double leader_timeout_s = 0;  // ends when no leader has come for so long; 0: never
};

struct LaunchArguments {
  std::size_t local_nodes = 0;  // 0: not given
  // The program may be stopped for long, as by a debugger, and its end is known without a timeout.
  double node_timeout_s = node_timeout_max_s;
  std::optional<bool> shared_memory;  // between the nodes; none: as the environment says, else TCP
  std::vector<std::string> ops;
  std::vector<std::string> command;  // a program and its arguments
};

// Exit codes: 0 done, 1 the run failed, 2 before anything ran: bad usage, a bad file, or something
// missing that it needs.
enum ExitCode : int { exit_done = 0, exit_failed = 1, exit_usage = 2 };

int run_command(const RunArguments& arguments);
int simulate_command(const RunArguments& arguments);
// Of `arguments`, uses the file, the libraries of ops and the nodes.
int validate_command(const RunArguments& arguments);
int machine_command();
// Lists the kinds that come with Troupe, and those of the libraries.
int ops_command(const std::vector<std::string>& libraries);
int node_command(const NodeArguments& arguments);
// Returns what the program returns, as a shell does.
int launch_command(const LaunchArguments& arguments);

}  // namespace troupe
