#include "core/ops/panels.hpp"

#include "core/base/random.hpp"
#include "tests/support/op_cases.hpp"
#include "tests/support/seeds.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
using namespace testing;

BOOST_AUTO_TEST_SUITE(panels)
namespace {

Cuttable product_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
  return {.rows = m,
          .columns = n,
          .multiply_adds = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
          .batch = batch};
}

// From 1 to `most`, small extents as often as large ones.
std::int64_t extent(Random& random, double most) {
  return static_cast<std::int64_t>(std::pow(most, random.unit()));
}

Cuttable random_product(Random& random) {
  return product_of(extent(random, 30'000), extent(random, 30'000), extent(random, 30'000),
                    random.below(3) == 0 ? extent(random, 100) : 1);
}

void for_random_products(const std::function<void(const Cuttable&)>& check) {
  for (std::uint64_t seed = 1; seed <= usual_seeds(300); ++seed) {
    Random random(seed);
    const Cuttable whole = random_product(random);
    BOOST_TEST_CONTEXT("seed " << seed << ": " << whole.rows << " × " << whole.columns << ", "
                               << whole.multiply_adds << " multiplications, batch "
                               << whole.batch) {
      check(whole);
    }
  }
}

// Panels follow each other from 0 to `length`, and none is empty.
void check_covered(const Panels& panels, std::int64_t length) {
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < panels.count; ++i) {
    BOOST_REQUIRE(panels.begin(i) == next);
    BOOST_REQUIRE(panels.end(i) > next);
    next = panels.end(i);
    BOOST_REQUIRE((next % 8 == 0 || i == panels.count - 1));
  }
  BOOST_REQUIRE(next == length);
}

// As results were cut before grids: in one direction, whatever the team.
std::int64_t panels_of_two_percent(std::int64_t length, std::int64_t per_panel) {
  const auto count =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(1 + length / per_panel)));
  const std::int64_t extent = ((length + count - 1) / count + 7) / 8 * 8;
  return (length + extent - 1) / extent;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_grid_covers_each_element_once) {
  for_random_products([](const Cuttable& whole) {
    for (const std::int64_t threads : {1, 2, 3, 16, 64, 128}) {
      const Grid grid = cut(whole, threads);
      check_covered(grid.rows, whole.rows);
      check_covered(grid.columns, whole.columns);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_cut_of_two_percent_in_one_direction_is_enough_where_it_has_work_for_all) {
  for_random_products([](const Cuttable& whole) {
    const std::int64_t rows = panels_of_two_percent(whole.rows, 800);
    const std::int64_t columns = panels_of_two_percent(whole.columns, 1500);
    for (const std::int64_t threads : {1, 2, 16}) {
      if (whole.batch * std::max(rows, columns) < threads) continue;
      const Grid grid = cut(whole, threads);
      BOOST_TEST(grid.rows.count == (rows >= columns ? rows : 1));
      BOOST_TEST(grid.columns.count == (rows >= columns ? 1 : columns));
    }
  });
}

BOOST_AUTO_TEST_CASE(large_products_are_cut_for_every_thread) {
  for (const std::int64_t extent : {2000, 3000, 5000}) {
    for (const std::int64_t threads : {4, 8, 12, 16, 24, 48, 64, 96, 128}) {
      BOOST_TEST_CONTEXT(extent << "² on " << threads << " threads") {
        const std::int64_t count = cut(product_of(extent, extent, extent), threads).count();
        BOOST_TEST(100 * count >= 85 * threads);
        // The widest team needs one round, unless even the cheap cut has more panels.
        BOOST_TEST((count <= threads || threads < 12));
      }
    }
  }
  const auto is = [](const Grid& grid, std::int64_t rows, std::int64_t columns) {
    return grid.rows.count == rows && grid.columns.count == columns;
  };
  BOOST_TEST(is(cut(product_of(2000, 2000, 2000), 16), 4, 4));
  BOOST_TEST(is(cut(product_of(1000, 1000, 1000), 16), 4, 4));
  BOOST_TEST(is(cut(product_of(2000, 2000, 2000), 64), 8, 8));
  BOOST_TEST(is(cut(product_of(8000, 200, 2000), 16), 16, 1));
  BOOST_TEST(is(cut(product_of(200, 8000, 2000), 16), 1, 16));
}

BOOST_AUTO_TEST_CASE(a_batch_is_cut_as_far_as_its_products_leave_threads_idle) {
  BOOST_TEST(cut(product_of(700, 700, 700, 16), 16).count() == 1);
  BOOST_TEST(cut(product_of(700, 700, 700, 8), 16).count() == 2);
  // Six panels each would take two rounds.
  BOOST_TEST(cut(product_of(700, 700, 700, 3), 16).count() == 5);
  BOOST_TEST(cut(product_of(700, 700, 700, 15), 16).count() == 1);
}

BOOST_AUTO_TEST_CASE(products_of_small_matrices_are_cut_for_two_threads_in_halves) {
  for (const std::int64_t extent : {128, 192, 256, 384, 512, 700}) {
    const Grid grid = cut(product_of(extent, extent, extent), 2);
    BOOST_TEST(grid.rows.count == 2);
    BOOST_TEST(grid.columns.count == 1);
  }
  BOOST_TEST(cut(product_of(256, 256, 256), 16).count() == 16);
}

BOOST_AUTO_TEST_CASE(a_panel_has_half_a_million_multiplications_at_least) {
  BOOST_TEST(cut(product_of(96, 96, 96), 128).count() == 1);
  BOOST_TEST(cut(product_of(128, 128, 64), 128).count() == 2);
  for_random_products([](const Cuttable& whole) {
    const std::int64_t of_one = cut(whole, 1).count();
    for (const std::int64_t threads : {2, 16, 128}) {
      const std::int64_t count = cut(whole, threads).count();
      BOOST_TEST((count == of_one || static_cast<double>(count) * 5e5 <= whole.multiply_adds));
    }
  });
}

// The cost on one thread: 16/m for each further panel of rows, 30/n for one of columns.
BOOST_AUTO_TEST_CASE(no_team_takes_longer_for_panels_than_one_thread_for_the_whole) {
  for_random_products([](const Cuttable& whole) {
    if (whole.batch > 1) return;
    for (const std::int64_t threads : {2, 3, 16, 64}) {
      const Grid grid = cut(whole, threads);
      const double cost =
          static_cast<double>(grid.rows.count - 1) * 16 / static_cast<double>(whole.rows) +
          static_cast<double>(grid.columns.count - 1) * 30 / static_cast<double>(whole.columns);
      const std::int64_t rounds = (grid.count() + threads - 1) / threads;
      BOOST_TEST(static_cast<double>(rounds) * (1 + cost) <= static_cast<double>(grid.count()));
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
