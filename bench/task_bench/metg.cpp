#include "bench/task_bench/metg.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <cmath>
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

std::vector<std::optional<double>> find_metg(
    std::size_t runtimes, std::int64_t iterations_max, double wanted,
    const std::function<std::vector<Rate>(std::span<const std::size_t>, std::int64_t)>& measure) {
  TROUPE_ASSERT(iterations_max > 0);
  std::vector<std::vector<Sample>> samples(runtimes);
  std::vector<std::size_t> active(runtimes);
  std::iota(active.begin(), active.end(), std::size_t{0});
  std::map<std::size_t, double> peaks;  // by cores
  for (std::int64_t iterations = iterations_max; iterations > 0 && !active.empty();
       iterations /= 2) {
    const std::vector<Rate> rates = measure(active, iterations);
    TROUPE_ASSERT(rates.size() == active.size());
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
  std::vector<std::optional<double>> metg;
  for (const std::vector<Sample>& s : samples) metg.push_back(crossing_s(s, wanted));
  return metg;
}

}  // namespace troupe::bench
