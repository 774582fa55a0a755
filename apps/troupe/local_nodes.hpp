// Node processes on this host, for --local-nodes.
#pragma once

#include "core/base/error.hpp"
#include "core/base/time.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/types.h>

namespace troupe {

struct LocalNodesOptions {
  std::size_t count = 1;
  std::size_t first = 0;                              // number of the first one, in messages
  std::vector<std::string> ops = {};                  // libraries of op kinds
  std::string program = "/proc/self/exe";             // `troupe`
  Duration start_timeout = std::chrono::seconds(10);  // of each, until it listens
  double node_timeout_s = 1;                          // a leader that is silent for longer is gone
  std::string listen = "127.0.0.1:0";
  double memory_share = 1;             // of this host's memory, for all of them
  bool once = true;                    // they end when their leader is gone; else when killed
  std::vector<std::string> more = {};  // options of `troupe node`
};

// Part `index` of `count` of these cores: shared where there are fewer cores than parts.
cpu_set_t part_of_cores(const std::vector<int>& cores, std::size_t index, std::size_t count);

// Each gets its part of this process's cores and of the host's memory. They die with this process,
// however it ends.
class LocalNodes {
 public:
  // Blocks until all listen. Throws a usage Error if one of them can't be started, ends before it
  // listens, or doesn't listen in time; none of them is left then.
  explicit LocalNodes(const LocalNodesOptions& options);
  // Waits until they have ended, as far as they do, and kills those that have not after a second.
  ~LocalNodes();
  LocalNodes(const LocalNodes&) = delete;
  LocalNodes& operator=(const LocalNodes&) = delete;

  const std::vector<std::string>& addresses() const { return addresses_; }
  // Ends what is left of this one and starts another one in its place. Returns its address. Blocks
  // until it listens, for `timeout` at most. Throws a run Error if the node can't be started, ends
  // before it listens, or doesn't listen in time; a usage Error if it says that what it was given
  // is wrong.
  std::string restart(std::size_t index, Duration timeout);
  // Blocks until all have ended. Returns whether all of them were well.
  bool wait();
  // Says of nodes that have ended since the last call, other than by this object, how they did:
  // "node n1 was ended by signal 11 (Segmentation fault)". Blocks until one has, but no
  // longer than `patience`.
  std::vector<std::string> take_ended(Duration patience = {});
  // Ends all of them, suspended or not, whatever they are doing; what they have stored is removed.
  // Blocks for a second, or for as long as the system takes to end one that it must kill.
  void stop();

 private:
  std::string name_of(std::size_t index) const;
  std::vector<std::string> take_those_that_have_ended();
  // Throws an Error of this kind if the node can't be started.
  void start(std::size_t index, Duration timeout, ErrorKind kind);
  // Kills it, suspended or not, and waits for its end.
  void end(std::size_t index);
  // Those that haven't ended by then are killed.
  void await_ends(std::chrono::steady_clock::time_point until);

  const LocalNodesOptions options_;
  std::vector<pid_t> processes_;  // 0: has ended
  std::vector<std::string> addresses_;
};

}  // namespace troupe
