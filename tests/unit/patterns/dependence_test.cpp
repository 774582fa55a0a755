// The edges of every pattern, against ones written out by hand.
#include "core/patterns/dependence.hpp"

#include "tests/support/expect_error.hpp"

#include <limits>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(dependence)
namespace {

using testing::expect_error;

using Columns = std::vector<std::uint32_t>;
using Row = std::vector<Columns>;  // by column

Row row(const Pattern& p, std::uint32_t t) {
  Row columns(p.points_of_row(t));
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    for_each_dependence(p, t, i, [&](std::uint32_t j) { columns[i].push_back(j); });
  }
  return columns;
}

Pattern pattern(Dependence dependence, std::uint32_t width, std::uint32_t steps = 8) {
  return {.dependence = dependence, .width = width, .steps = steps};
}

std::vector<Dependence> all_dependences() {
  std::vector<Dependence> all;
  for (std::size_t d = 0; d < dependences().size(); ++d) all.push_back(static_cast<Dependence>(d));
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_pattern_is_listed_under_its_name) {
  BOOST_TEST(dependences().size() == 11U);
  BOOST_TEST(info(Dependence::trivial).name == "trivial");
  BOOST_TEST(info(Dependence::no_comm).name == "no_comm");
  BOOST_TEST(info(Dependence::stencil_1d).name == "stencil_1d");
  BOOST_TEST(info(Dependence::stencil_1d_periodic).name == "stencil_1d_periodic");
  BOOST_TEST(info(Dependence::dom).name == "dom");
  BOOST_TEST(info(Dependence::tree).name == "tree");
  BOOST_TEST(info(Dependence::fft).name == "fft");
  BOOST_TEST(info(Dependence::all_to_all).name == "all_to_all");
  BOOST_TEST(info(Dependence::nearest).name == "nearest");
  BOOST_TEST(info(Dependence::spread).name == "spread");
  BOOST_TEST(info(Dependence::random_nearest).name == "random_nearest");
}

BOOST_AUTO_TEST_CASE(the_first_row_depends_on_nothing) {
  for (const Dependence d : all_dependences()) {
    for (const Columns& columns : row(pattern(d, 4), 0)) BOOST_TEST(columns == Columns{});
  }
}

BOOST_AUTO_TEST_CASE(trivial_has_no_dependences) {
  BOOST_TEST((row(pattern(Dependence::trivial, 3), 1) == Row{{}, {}, {}}));
}

BOOST_AUTO_TEST_CASE(no_comm_reads_its_own_column) {
  BOOST_TEST((row(pattern(Dependence::no_comm, 3), 1) == Row{{0}, {1}, {2}}));
}

BOOST_AUTO_TEST_CASE(stencil_1d_reads_both_neighbours_as_far_as_they_exist) {
  BOOST_TEST((row(pattern(Dependence::stencil_1d, 1), 1) == Row{{0}}));
  BOOST_TEST((row(pattern(Dependence::stencil_1d, 2), 1) == Row{{0, 1}, {0, 1}}));
  BOOST_TEST(
      (row(pattern(Dependence::stencil_1d, 4), 1) == Row{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3}}));
}

BOOST_AUTO_TEST_CASE(stencil_1d_periodic_is_a_ring_that_reads_each_column_once) {
  BOOST_TEST((row(pattern(Dependence::stencil_1d_periodic, 1), 1) == Row{{0}}));
  BOOST_TEST((row(pattern(Dependence::stencil_1d_periodic, 2), 1) == Row{{1, 0}, {0, 1}}));
  BOOST_TEST((row(pattern(Dependence::stencil_1d_periodic, 4), 1) ==
              Row{{3, 0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 0}}));
}

BOOST_AUTO_TEST_CASE(dom_reads_its_own_column_and_the_one_before) {
  BOOST_TEST((row(pattern(Dependence::dom, 1), 1) == Row{{0}}));
  BOOST_TEST((row(pattern(Dependence::dom, 4), 1) == Row{{0}, {0, 1}, {1, 2}, {2, 3}}));
}

// t = 0:        0
//             /   \.
// t = 1:     0     1
//           / \   / \.
// t = 2:   0   1 2   3
//         / \ / \.
// t = 3: 0  1 2  3 4   (columns beyond the width of 5 don't exist)
BOOST_AUTO_TEST_CASE(tree_doubles_its_rows_up_to_the_width_and_reads_half_its_column) {
  const Pattern tree = pattern(Dependence::tree, 5);
  BOOST_TEST((row(tree, 0) == Row{{}}));
  BOOST_TEST((row(tree, 1) == Row{{0}, {0}}));
  BOOST_TEST((row(tree, 2) == Row{{0}, {0}, {1}, {1}}));
  BOOST_TEST((row(tree, 3) == Row{{0}, {0}, {1}, {1}, {2}}));
  BOOST_TEST((row(tree, 4) == Row{{0}, {0}, {1}, {1}, {2}}));
  BOOST_TEST((row(pattern(Dependence::tree, 1), 1) == Row{{0}}));
}

// Width 8: L = 3, so d = (t + 2) mod 3 is 0, 1, 2, 0, … from t = 1 on.
BOOST_AUTO_TEST_CASE(fft_reads_columns_a_power_of_two_away) {
  const Pattern fft = pattern(Dependence::fft, 8);
  BOOST_TEST(
      (row(fft, 1) ==
       Row{{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 6}, {5, 6, 7}, {6, 7}}));
  BOOST_TEST((row(fft, 2) ==
              Row{{0, 2}, {1, 3}, {0, 2, 4}, {1, 3, 5}, {2, 4, 6}, {3, 5, 7}, {4, 6}, {5, 7}}));
  BOOST_TEST((row(fft, 3) == Row{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  BOOST_TEST((row(fft, 4) == row(fft, 1)));
}

// Width 5: L = ceil(log2 5) = 3.
BOOST_AUTO_TEST_CASE(fft_of_a_width_that_is_no_power_of_two_is_clipped) {
  BOOST_TEST((row(pattern(Dependence::fft, 5), 3) == Row{{0, 4}, {1}, {2}, {3}, {0, 4}}));
  BOOST_TEST((row(pattern(Dependence::fft, 1), 3) == Row{{0}}));
}

BOOST_AUTO_TEST_CASE(all_to_all_reads_every_column) {
  BOOST_TEST((row(pattern(Dependence::all_to_all, 3), 1) == Row{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}));
}

BOOST_AUTO_TEST_CASE(nearest_reads_a_window_of_radix_columns) {
  Pattern p = pattern(Dependence::nearest, 5);
  p.radix = 1;
  BOOST_TEST((row(p, 1) == Row{{0}, {1}, {2}, {3}, {4}}));
  p.radix = 2;
  BOOST_TEST((row(p, 1) == Row{{0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  p.radix = 4;
  BOOST_TEST((row(p, 1) == Row{{0, 1}, {0, 1, 2}, {0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4}}));
  p.radix = 5;
  BOOST_TEST((row(p, 1) == Row{{0, 1, 2}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}, {1, 2, 3, 4}, {2, 3, 4}}));
}

// Width 6, radix 2, period 3: i and i + 3 + t mod 3.
BOOST_AUTO_TEST_CASE(spread_reads_columns_over_the_whole_row_and_shifts_them) {
  Pattern p = pattern(Dependence::spread, 6);
  p.radix = 2;
  p.period = 3;
  BOOST_TEST((row(p, 3) == Row{{0, 3}, {1, 4}, {2, 5}, {3, 0}, {4, 1}, {5, 2}}));
  BOOST_TEST((row(p, 1) == Row{{0, 4}, {1, 5}, {2, 0}, {3, 1}, {4, 2}, {5, 3}}));
  BOOST_TEST((row(p, 2) == Row{{0, 5}, {1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 4}}));
  BOOST_TEST((row(p, 4) == row(p, 1)));
}

// Width 4, radix 2, t mod 3 = 2: the second column, i + 2 + 2, is the first again.
BOOST_AUTO_TEST_CASE(spread_reads_no_column_twice) {
  Pattern p = pattern(Dependence::spread, 4);
  p.radix = 2;
  p.period = 3;
  BOOST_TEST((row(p, 2) == Row{{0}, {1}, {2}, {3}}));
  // 7 / 3 and 14 / 3, rounded down, are 2 and 4.
  p = pattern(Dependence::spread, 7);
  p.radix = 3;
  BOOST_TEST((row(p, 3)[6] == Columns{6, 1, 3}));
}

BOOST_AUTO_TEST_CASE(random_nearest_always_keeps_its_own_column) {
  Pattern p = pattern(Dependence::random_nearest, 5);
  p.radix = 5;
  p.fraction = 0;
  BOOST_TEST((row(p, 1) == Row{{0}, {1}, {2}, {3}, {4}}));
  p.fraction = 1;
  BOOST_TEST((row(p, 1) == row({.dependence = Dependence::nearest, .width = 5, .radix = 5}, 1)));
}

// Written out once: they must be the same on every machine.
BOOST_AUTO_TEST_CASE(random_nearest_keeps_the_same_columns_everywhere) {
  Pattern p = pattern(Dependence::random_nearest, 5);
  p.radix = 5;
  p.fraction = 0.5;
  p.seed = 7;
  BOOST_TEST((row(p, 1) == Row{{0}, {1, 2, 3}, {1, 2, 4}, {3}, {4}}));
  BOOST_TEST((row(p, 2) == Row{{0, 1}, {1, 3}, {1, 2, 4}, {3}, {4}}));
}

BOOST_AUTO_TEST_CASE(random_nearest_keeps_about_the_given_fraction) {
  Pattern p = pattern(Dependence::random_nearest, 1000);
  p.radix = 41;
  std::size_t kept = 0;
  std::size_t offered = 0;
  for (std::uint32_t t = 1; t < 5; ++t) {
    for (std::uint32_t i = 100; i < 900; ++i) {
      for_each_dependence(p, t, i, [&](std::uint32_t j) { kept += j != i ? 1U : 0U; });
      offered += 40;
    }
  }
  // 128,000 draws of probability 1/4: 32,000 with a standard deviation of 155.
  BOOST_TEST(kept > offered / 4 - 1000);
  BOOST_TEST(kept < offered / 4 + 1000);
}

BOOST_AUTO_TEST_CASE(no_point_reads_more_than_its_pattern_says_nor_a_column_twice) {
  for (const Dependence d : all_dependences()) {
    for (const std::uint32_t width : {1U, 2U, 3U, 4U, 7U, 8U, 33U}) {
      for (std::uint32_t radix = 1; radix <= std::min(width, 9U); ++radix) {
        Pattern p = pattern(d, width);
        p.radix = radix;
        p.fraction = 0.5;
        for (std::uint32_t t = 1; t < p.steps; ++t) {
          for (const Columns& columns : row(p, t)) {
            BOOST_TEST(columns.size() <= p.inputs_max());
            BOOST_TEST(std::set(columns.begin(), columns.end()).size() == columns.size());
            for (const std::uint32_t j : columns) BOOST_TEST(j < p.points_of_row(t - 1));
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(points_are_numbered_row_by_row) {
  for (const Dependence d : all_dependences()) {
    for (const std::uint32_t width : {1U, 2U, 3U, 4U, 5U, 8U, 9U}) {
      const Pattern p = pattern(d, width);
      std::uint32_t index = 0;
      for (std::uint32_t t = 0; t < p.steps; ++t) {
        BOOST_TEST(p.first_of_row(t) == index);
        for (std::uint32_t i = 0; i < p.points_of_row(t); ++i) {
          BOOST_TEST((p.point(index++) == Point{t, i}));
        }
      }
      BOOST_TEST(p.points() == index);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_pattern_that_can_not_be_is_refused) {
  const auto refused = [](const char* words, auto change) {
    Pattern p = pattern(Dependence::spread, 4);
    BOOST_CHECK_NO_THROW(p.check());
    change(p);
    expect_error(ErrorKind::usage, words, [&] { p.check(); });
  };
  refused("the width is 0", [](Pattern& p) { p.width = 0; });
  refused("the number of steps is 0", [](Pattern& p) { p.steps = 0; });
  refused("the radix is 0", [](Pattern& p) { p.radix = 0; });
  refused("the period is 0", [](Pattern& p) { p.period = 0; });
  refused("the radix is 5, and there are 4 columns", [](Pattern& p) { p.radix = 5; });
  refused("the fraction is -0.1", [](Pattern& p) { p.fraction = -0.1; });
  refused("the fraction is nan",
          [](Pattern& p) { p.fraction = std::numeric_limits<double>::quiet_NaN(); });
  refused("the pattern has 18446744065119617025 points", [](Pattern& p) {
    p.width = 0xFFFFFFFF;
    p.steps = 0xFFFFFFFF;
  });
  refused("the pattern has 10000000000 dependences", [](Pattern& p) {
    p.dependence = Dependence::all_to_all;
    p.width = 100'000;
    p.steps = 1;
  });
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
