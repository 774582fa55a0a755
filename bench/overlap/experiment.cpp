#include "bench/overlap/experiment.hpp"

#include "bench/median.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe::bench {
namespace {

double median_of(const std::vector<Timed>& samples, double Timed::*figure) {
  std::vector<double> values;
  for (const Timed& sample : samples) values.push_back(sample.*figure);
  return median(values);
}

PartResult result_of(const Part& part, const std::vector<Timed>& samples) {
  PartResult result{.name = part.name, .samples_s = {}};
  for (const Timed& sample : samples) result.samples_s.push_back(sample.seconds);
  result.median_s = median_of(samples, &Timed::seconds);
  if (result.median_s > 0) {
    result.flops_per_second = part.flops / result.median_s;
    result.bytes_per_second = part.bytes / result.median_s;
    result.overlap_efficiency = median_of(samples, &Timed::bound_seconds) / result.median_s;
  }
  if (part.ops > 0) result.ns_per_op = result.median_s * 1e9 / part.ops;
  result.host_ns_per_op = median_of(samples, &Timed::host_seconds_per_op) * 1e9;
  return result;
}

double median_of_part(const ExperimentResult& result, const std::string& name) {
  const auto found = std::find_if(result.parts.begin(), result.parts.end(),
                                  [&](const PartResult& part) { return part.name == name; });
  TROUPE_ASSERT(found != result.parts.end());
  return found->median_s;
}

}  // namespace

ExperimentResult measure(const Experiment& experiment, int rounds) {
  ExperimentResult result{.name = experiment.name, .title = experiment.title, .problem = {}};
  std::vector<std::vector<Timed>> samples(experiment.parts.size());
  try {
    for (int round = 0; round <= rounds; ++round) {
      for (std::size_t k = 0; k < samples.size(); ++k) {
        const Timed timed = experiment.parts[k].run();
        if (round > 0) samples[k].push_back(timed);
      }
    }
  } catch (const Error& error) {
    result.problem = error.what();
    return result;
  }
  for (std::size_t k = 0; k < samples.size(); ++k) {
    result.parts.push_back(result_of(experiment.parts[k], samples[k]));
  }
  if (experiment.both.empty()) return result;
  double bound = 0;
  for (const std::string& name : experiment.alone) {
    const double alone = median_of_part(result, name);
    bound = experiment.bound == Experiment::Bound::sum ? bound + alone : std::max(bound, alone);
  }
  result.bound_s = bound;
  const double both = median_of_part(result, experiment.both);
  result.efficiency = both > 0 ? bound / both : 1;
  return result;
}

}  // namespace troupe::bench
