// A graph of groups of ops on a machine, which are run in any combination.
#pragma once

#include "bench/overlap/sizes.hpp"
#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/machine/machine.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::bench {

// What a run came to.
struct Timed {
  double seconds = 0;
  double bound_seconds = 0;  // no schedule can beat it, by the times that the ops took; 0: unknown
  double host_seconds_per_op = 0;  // to enqueue an op; 0: wasn't measured
};

class Workload {
 public:
  explicit Workload(Machine machine) : machine_(std::move(machine)) {}
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // Products that don't depend on each other, of a matrix that the device makes before the clock
  // starts.
  GroupId products(std::string name, std::string_view device, const Products& products);
  // Tensors of this size, which the device makes before the clock starts.
  GroupId values(std::string name, std::string_view device, const Products& products);
  // A copy of each tensor of a group.
  GroupId copies(std::string name, GroupId of, std::string_view memory);

  // Runs these groups at once, those that they need before the clock starts. The clock
  // runs from the first op to the end of the last one. Throws an Error if that can't be done.
  Timed run(const std::vector<GroupId>& groups) const;
  // The same, each group after the one before it.
  Timed run_in_turn(const std::vector<GroupId>& groups) const;

 private:
  Timed run_steps(std::vector<Step> steps) const;
  Placement on(std::string_view device) const { return {.device = machine_.find_device(device)}; }

  Machine machine_;
  Graph graph_;
};

}  // namespace troupe::bench
