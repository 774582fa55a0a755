// The results of an experiment of gpu_overlap, from the times of its parts.
#include "bench/overlap/experiment.hpp"

#include "core/base/error.hpp"

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::bench;

BOOST_AUTO_TEST_SUITE(experiment)
namespace {

// A part that takes these times, one after the other.
Part part(std::string name, std::vector<double> seconds) {
  return {.name = std::move(name),
          .run = [seconds, next = 0U]() mutable { return Timed{.seconds = seconds.at(next++)}; }};
}

Experiment run_and_copy(Experiment::Bound bound) {
  return {
      .name = "3b",
      .title = "run and copy",
      .parts = {part("run", {9, 1, 3, 2}), part("copy", {9, 4, 4, 4}), part("both", {9, 5, 5, 5})},
      .alone = {"run", "copy"},
      .both = "both",
      .bound = bound};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_part_has_the_median_of_all_rounds_but_the_first) {
  const ExperimentResult result = measure(run_and_copy(Experiment::Bound::longest), 3);
  BOOST_TEST(result.problem == "");
  BOOST_TEST(result.parts.at(0).median_s == 2);
  BOOST_TEST(result.parts.at(0).samples_s == (std::vector<double>{1, 3, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_bound_is_the_longest_part_that_runs_alone) {
  const ExperimentResult result = measure(run_and_copy(Experiment::Bound::longest), 3);
  BOOST_TEST(result.bound_s.value() == 4);
  BOOST_TEST(result.efficiency.value() == 0.8);
}

BOOST_AUTO_TEST_CASE(the_bound_of_parts_that_share_a_gpu_is_their_sum) {
  const ExperimentResult result = measure(run_and_copy(Experiment::Bound::sum), 3);
  BOOST_TEST(result.bound_s.value() == 6);
  BOOST_TEST(result.efficiency.value() == 1.2);
}

BOOST_AUTO_TEST_CASE(rates_are_those_of_the_median) {
  Experiment experiment{.name = "small", .title = "products", .parts = {part("run", {9, 2})}};
  experiment.parts[0].flops = 8;
  experiment.parts[0].bytes = 6;
  experiment.parts[0].ops = 4;
  const ExperimentResult result = measure(experiment, 1);
  BOOST_TEST(result.parts.at(0).flops_per_second == 4);
  BOOST_TEST(result.parts.at(0).bytes_per_second == 3);
  BOOST_TEST(result.parts.at(0).ns_per_op == 0.5e9);
  BOOST_TEST(!result.bound_s.has_value());
}

BOOST_AUTO_TEST_CASE(an_experiment_that_fails_says_why_and_has_no_parts) {
  const Experiment experiment{
      .name = "2",
      .title = "too large",
      .parts = {{.name = "run", .run = []() -> Timed { throw run_error("no room"); }}}};
  const ExperimentResult result = measure(experiment, 1);
  BOOST_TEST(result.problem == "no room");
  BOOST_TEST(result.parts.empty());
}

BOOST_AUTO_TEST_SUITE_END()
