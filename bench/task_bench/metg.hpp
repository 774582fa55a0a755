// The minimum effective task granularity of Task Bench (Slaughter et al., SC 2020): how long tasks
// must be, on average, for a runtime to reach a given part of the peak rate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace troupe::bench {

// One size of task: what it came to.
struct Sample {
  double granularity_s = 0;  // wall time × cores / tasks
  double efficiency = 0;     // of the peak rate
};

// Where the efficiency falls through `wanted` between two samples that follow each other, longer
// tasks first: linear in the logarithm of the granularity. None where it never does.
std::optional<double> crossing_s(std::span<const Sample> samples, double wanted);

// One measurement of a runtime at one size; zeros where it failed.
struct Rate {
  double granularity_s = 0;
  double flops_per_s = 0;
  std::size_t cores = 1;
};

// The METG of each of `runtimes` runtimes, in seconds: the medians of as many searches as
// `repetitions`. `measure(runtime, iterations)` measures one of them with tasks of this size. A
// search begins with `iterations_max`, which gives the peak: the best rate on as many cores. Then
// the iterations are halved down to one, for those that still reach `wanted`. All runtimes take
// turns at each size, so that a host that is slower for a while mostly is so for all of a search.
// None for a runtime that in half of the searches doesn't reach `wanted` with iterations_max, or
// still does with a single iteration.
std::vector<std::optional<double>> find_metg(
    std::size_t runtimes, std::int64_t iterations_max, double wanted, int repetitions,
    const std::function<Rate(std::size_t, std::int64_t)>& measure);

}  // namespace troupe::bench
