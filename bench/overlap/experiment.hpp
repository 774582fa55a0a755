// An experiment: a few things that are timed in turns, and what their times come to.
#pragma once

#include "bench/overlap/workload.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

// One of the things. `flops`, `bytes` and `ops` are those of one run, 0 if they don't count.
struct Part {
  std::string name;
  std::function<Timed()> run;
  double flops = 0;
  double bytes = 0;
  double ops = 0;
};

struct Experiment {
  std::string name;
  std::string title;
  std::vector<Part> parts;
  // What `both` can't beat: the longest one of the parts called `alone`, or their sum if all of
  // them keep the same GPU busy.
  enum class Bound { longest, sum };
  std::vector<std::string> alone = {};
  std::string both = {};
  Bound bound = Bound::longest;
};

struct PartResult {
  std::string name;
  std::vector<double> samples_s;  // by round
  double median_s = 0;
  // Of the medians; 0 if they don't count.
  double flops_per_second = 0;
  double bytes_per_second = 0;
  double ns_per_op = 0;
  double host_ns_per_op = 0;
  double overlap_efficiency = 0;  // by the times of its own ops; 0: unknown
};

struct ExperimentResult {
  std::string name;
  std::string title;
  std::string problem;  // why there are no results; empty: there are
  std::vector<PartResult> parts = {};
  // Of `both`, if the experiment has such a part.
  std::optional<double> bound_s = {};
  std::optional<double> efficiency = {};
};

// Runs all parts in turns, `rounds` times and once before, which doesn't count. An Error of a part
// becomes the problem of the result.
ExperimentResult measure(const Experiment& experiment, int rounds);

// "bare NAME" is what CUDA and cuBLAS do without Troupe in place of the part NAME.
inline std::string bare_name(const std::string& name) {
  return "bare " + name;
}

}  // namespace troupe::bench
