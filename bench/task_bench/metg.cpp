#include "bench/task_bench/metg.hpp"

#include "bench/median.hpp"
#include "core/base/assert.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace troupe::bench {

std::optional<double> crossing_s(std::span<const Sample> samples, double wanted) {
  for (std::size_t k = 1; k < samples.size(); ++k) {
    const Sample& above = samples[k - 1];
    const Sample& below = samples[k];
    if (above.efficiency < wanted || below.efficiency >= wanted) continue;
    const double part = (above.efficiency - wanted) / (above.efficiency - below.efficiency);
    return std::exp(std::lerp(std::log(above.granularity_s), std::log(below.granularity_s), part));
  }
  return std::nullopt;
}

namespace {

using MeasureRate = std::function<Rate(std::size_t, std::int64_t)>;

// The METG of each runtime, or infinity if it has none.
std::vector<double> search(std::size_t runtimes, std::int64_t iterations_max, double wanted,
                           const MeasureRate& measure) {
  std::vector<std::vector<Sample>> samples(runtimes);
  std::vector<std::size_t> active(runtimes);
  std::iota(active.begin(), active.end(), std::size_t{0});
  std::map<std::size_t, double> peaks;  // by cores
  for (std::int64_t iterations = iterations_max; iterations > 0 && !active.empty();
       iterations /= 2) {
    std::vector<Rate> rates;
    rates.reserve(active.size());
    for (const std::size_t r : active) rates.push_back(measure(r, iterations));
    if (iterations == iterations_max) {
      for (const Rate& rate : rates) {
        double& peak = peaks[rate.cores];
        peak = std::max(peak, rate.flops_per_s);
      }
    }
    for (std::size_t k = 0; k < active.size(); ++k) {
      const double peak = peaks[rates[k].cores];
      const double efficiency = peak > 0 ? rates[k].flops_per_s / peak : 0;
      samples[active[k]].push_back({rates[k].granularity_s, efficiency});
    }
    std::erase_if(active, [&](std::size_t r) { return samples[r].back().efficiency < wanted; });
  }
  std::vector<double> metg;
  metg.reserve(samples.size());
  for (const std::vector<Sample>& s : samples) {
    metg.push_back(crossing_s(s, wanted).value_or(std::numeric_limits<double>::infinity()));
  }
  return metg;
}

}  // namespace

std::vector<std::optional<double>> find_metg(std::size_t runtimes, std::int64_t iterations_max,
                                             double wanted, int repetitions,
                                             const MeasureRate& measure) {
  TROUPE_ASSERT(iterations_max > 0 && repetitions > 0);
  std::vector<std::vector<double>> found(runtimes);
  for (int n = 0; n < repetitions; ++n) {
    const std::vector<double> metg = search(runtimes, iterations_max, wanted, measure);
    for (std::size_t r = 0; r < runtimes; ++r) found[r].push_back(metg[r]);
  }
  std::vector<std::optional<double>> medians;
  for (const std::vector<double>& of_one : found) {
    const double middle = median(of_one);
    medians.push_back(std::isfinite(middle) ? std::optional(middle) : std::nullopt);
  }
  return medians;
}

}  // namespace troupe::bench
