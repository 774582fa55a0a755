#include "bench/task_bench/metg.hpp"

#include <cmath>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe::bench {
BOOST_AUTO_TEST_SUITE(metg)
namespace {

using Sizes = std::vector<std::int64_t>;

// A runtime that adds `overhead_s` to each task; an iteration takes 1 us and is 1 FLOP.
Rate rate_of(double overhead_s, std::int64_t iterations, std::size_t cores = 2) {
  const double task_s = static_cast<double>(iterations) * 1e-6 + overhead_s;
  return {.granularity_s = task_s,
          .flops_per_s = static_cast<double>(iterations) / task_s * static_cast<double>(cores),
          .cores = cores};
}

bool is_near(double a, double b) {
  return std::fabs(a - b) <= 0.02 * b;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_crossing_is_interpolated_in_the_logarithm_of_the_granularity) {
  const std::vector<Sample> samples{{8e-3, 1}, {4e-3, 0.75}, {1e-3, 0.25}};
  BOOST_TEST(is_near(crossing_s(samples, 0.5).value(), 2e-3));
  BOOST_TEST(is_near(crossing_s(samples, 0.75).value(), 4e-3));
  BOOST_TEST(!crossing_s(samples, 0.2).has_value());
  BOOST_TEST(!crossing_s({}, 0.5).has_value());
}

BOOST_AUTO_TEST_CASE(a_runtime_that_starts_below_has_no_crossing) {
  const std::vector<Sample> samples{{4e-3, 0.4}, {1e-3, 0.25}};
  BOOST_TEST(!crossing_s(samples, 0.5).has_value());
}

// With an overhead of x per task, half the time is work where tasks take 2x.
BOOST_AUTO_TEST_CASE(a_fixed_overhead_gives_a_metg_of_twice_that) {
  const std::vector<double> overheads{3e-6, 50e-6};
  const auto metg = find_metg(2, 1 << 20, 0.5, 1, [&](std::size_t r, std::int64_t iterations) {
    return rate_of(overheads[r], iterations);
  });
  BOOST_TEST(is_near(metg.at(0).value(), 6e-6));
  BOOST_TEST(is_near(metg.at(1).value(), 100e-6));
}

BOOST_AUTO_TEST_CASE(each_search_halves_the_sizes_for_those_that_still_reach_it) {
  std::vector<Sizes> sizes(2);
  find_metg(2, 64, 0.5, 2, [&](std::size_t r, std::int64_t iterations) {
    sizes[r].push_back(iterations);
    return rate_of(r == 0 ? 3e-6 : 12e-6, iterations);
  });
  BOOST_TEST(sizes[0] == (Sizes{64, 32, 16, 8, 4, 2, 64, 32, 16, 8, 4, 2}));
  BOOST_TEST(sizes[1] == (Sizes{64, 32, 16, 8, 64, 32, 16, 8}));
}

BOOST_AUTO_TEST_CASE(all_runtimes_take_turns_at_each_size) {
  std::vector<std::size_t> order;
  Sizes sizes;
  find_metg(2, 2, 0.1, 1, [&](std::size_t r, std::int64_t iterations) {
    order.push_back(r);
    sizes.push_back(iterations);
    return rate_of(1e-6, iterations);
  });
  BOOST_TEST(order == (std::vector<std::size_t>{0, 1, 0, 1}));
  BOOST_TEST(sizes == (Sizes{2, 2, 1, 1}));
}

// In one search of three the host makes every task slower.
BOOST_AUTO_TEST_CASE(a_slow_search_changes_nothing) {
  for (const int slow : {0, 1, 2}) {
    int round = -1;
    const auto metg = find_metg(1, 1024, 0.5, 3, [&](std::size_t, std::int64_t iterations) {
      if (iterations == 1024) ++round;
      return rate_of(round == slow ? 40e-6 : 4e-6, iterations);
    });
    BOOST_TEST(is_near(metg.at(0).value(), 8e-6));
  }
}

// Without overhead the rate never falls.
BOOST_AUTO_TEST_CASE(a_runtime_that_mostly_has_no_metg_has_none) {
  for (const int with : {1, 2}) {  // of three searches
    int round = -1;
    const auto metg = find_metg(1, 1024, 0.5, 3, [&](std::size_t, std::int64_t iterations) {
      if (iterations == 1024) ++round;
      return rate_of(round < with ? 4e-6 : 0, iterations);
    });
    BOOST_TEST(metg.at(0).has_value() == (with == 2));
  }
}

BOOST_AUTO_TEST_CASE(the_peak_is_the_best_rate_on_as_many_cores) {
  const auto metg = find_metg(3, 1024, 0.5, 1, [&](std::size_t r, std::int64_t iterations) {
    Rate rate = rate_of(3e-6, iterations, r == 2 ? 1 : 2);
    if (r == 1) rate.flops_per_s *= 0.4;  // never reaches half of what the first does
    return rate;
  });
  BOOST_TEST(metg.at(0).has_value());
  BOOST_TEST(!metg.at(1).has_value());
  BOOST_TEST(metg.at(2).has_value());
}

BOOST_AUTO_TEST_CASE(a_runtime_that_failed_has_no_metg) {
  const auto metg = find_metg(1, 1024, 0.5, 2, [](std::size_t, std::int64_t) { return Rate{}; });
  BOOST_TEST(!metg.at(0).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::bench
