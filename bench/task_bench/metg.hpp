// The minimum effective task granularity (METG) of Task Bench (Slaughter et al., SC 2020): the mean
// task length with which a runtime reaches a given fraction of the peak rate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace troupe::bench {

// The result for one size of task.
struct Sample {
  double granularity_s = 0;  // wall time × cores / tasks
  double efficiency = 0;     // of the peak rate
};

// The granularity at which the efficiency falls below `wanted`. `samples` must be in the order of
// falling granularity. Interpolates between two neighbouring samples, linearly in the logarithm of
// the granularity. Returns nullopt if the efficiency never falls below `wanted`.
std::optional<double> crossing_s(std::span<const Sample> samples, double wanted);

// One measurement of a runtime at one size. Zeros if it failed.
struct Rate {
  double granularity_s = 0;
  double flops_per_s = 0;
  std::size_t cores = 1;
};

// The METG of each of `runtimes` runtimes, in seconds: the median of `repetitions` searches.
// `measure(runtime, iterations)` must measure one runtime with tasks of this size.
//
// A search begins with `iterations_max`. The peak is the best rate there of all runtimes with the
// same number of cores. Then the search halves the iterations, down to 1, for the runtimes that
// still reach `wanted`. Runtimes take turns at each size, so that a temporarily slow host mostly
// affects all runtimes of a search alike.
//
// The METG is nullopt for a runtime that, in half of the searches, doesn't reach `wanted` with
// iterations_max, or still reaches it with a single iteration.
std::vector<std::optional<double>> find_metg(
    std::size_t runtimes, std::int64_t iterations_max, double wanted, int repetitions,
    const std::function<Rate(std::size_t, std::int64_t)>& measure);

}  // namespace troupe::bench
