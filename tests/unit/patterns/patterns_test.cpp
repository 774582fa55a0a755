#include "core/patterns/patterns.hpp"

#include "core/base/random.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "tests/support/expect_error.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(pattern_graphs)
namespace {

struct Grid {
  Graph graph{pattern_ops()};
  GroupId group;
};

Pattern stencil_pattern(std::uint32_t width, std::uint32_t steps) {
  return {.dependence = Dependence::stencil_1d, .width = width, .steps = steps};
}

PatternOps spins(std::span<const DeviceId> devices = {}) {
  return {.kernel = builtin_ops().find("spin"), .attrs = {{"iterations", 4}}, .devices = devices};
}

Grid stencil(std::uint32_t width, std::uint32_t steps, std::span<const DeviceId> devices = {}) {
  Grid grid;
  grid.group = append_pattern(grid.graph, stencil_pattern(width, steps), spins(devices), "grid");
  return grid;
}

std::vector<std::uint32_t> inputs(const Graph& graph, std::size_t op) {
  std::vector<std::uint32_t> result;
  for (const OpId input : graph.inputs(OpId::at(op))) result.push_back(input.value);
  return result;
}

using Columns = std::vector<std::uint32_t>;

// Whether ops [first, end) of two graphs are the same.
bool same_ops(const Graph& a, const Graph& b, std::size_t first, std::size_t end) {
  for (std::size_t op = first; op < end; ++op) {
    const OpId id = OpId::at(op);
    const bool same = inputs(a, op) == inputs(b, op) && a.name(id) == b.name(id) &&
                      a.placement(id) == b.placement(id) && a.class_index(id) == b.class_index(id);
    if (!same) return false;
  }
  return true;
}

constexpr std::array three_devices = {DeviceId{7}, DeviceId{8}, DeviceId{9}};

}  // namespace

// t = 0:   0   1   2
//          |\ /|\ /|
// t = 1:   3   4   5
//          |\ /|\ /|
// t = 2:   6   7   8
BOOST_AUTO_TEST_CASE(a_pattern_is_appended_in_row_order) {
  const Grid grid = stencil(3, 3);
  BOOST_TEST(grid.graph.size() == 9U);
  for (std::size_t op = 0; op < 3; ++op) BOOST_TEST(inputs(grid.graph, op) == Columns{});
  BOOST_TEST(inputs(grid.graph, 3) == (Columns{0, 1}));
  BOOST_TEST(inputs(grid.graph, 4) == (Columns{0, 1, 2}));
  BOOST_TEST(inputs(grid.graph, 5) == (Columns{1, 2}));
  BOOST_TEST(inputs(grid.graph, 7) == (Columns{3, 4, 5}));
  BOOST_TEST(grid.graph.group(grid.group).count == 9U);
  BOOST_TEST(grid.graph.name(OpId::at(7)) == "grid[7]");
}

BOOST_AUTO_TEST_CASE(a_column_of_one_is_a_chain) {
  const Grid grid = stencil(1, 3);
  BOOST_TEST(inputs(grid.graph, 0) == Columns{});
  BOOST_TEST(inputs(grid.graph, 1) == (Columns{0}));
  BOOST_TEST(inputs(grid.graph, 2) == (Columns{1}));
}

BOOST_AUTO_TEST_CASE(a_pattern_appended_to_others_reads_its_own_ops_only) {
  Grid grid = stencil(2, 2);
  append_pattern(grid.graph, stencil_pattern(2, 2), spins(), "second");
  BOOST_TEST(inputs(grid.graph, 4) == Columns{});
  BOOST_TEST(inputs(grid.graph, 6) == (Columns{4, 5}));
}

BOOST_AUTO_TEST_CASE(columns_are_dealt_to_devices_in_contiguous_blocks) {
  const std::array devices = {DeviceId::at(7), DeviceId::at(8)};
  const Grid grid = stencil(5, 2, devices);
  const std::vector<std::uint32_t> expected = {7, 7, 7, 8, 8};
  for (std::size_t op = 0; op < 10; ++op) {
    BOOST_TEST(grid.graph.placement(OpId::at(op)).device.value == expected[op % 5]);
  }
}

BOOST_AUTO_TEST_CASE(blocks_are_contiguous_and_differ_by_one_at_most) {
  for (const std::uint64_t count : {1U, 2U, 5U, 16U, 33U}) {
    for (std::size_t parts = 1; parts <= count; ++parts) {
      std::vector<std::uint64_t> sizes(parts, 0);
      std::size_t last = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t block = block_of(i, count, parts);
        BOOST_TEST(block >= last);
        last = block;
        ++sizes.at(block);
      }
      const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
      BOOST_TEST(*least >= 1U);
      BOOST_TEST(*most - *least <= 1U);
    }
  }
}

// t = 0:  0
//         |\.
// t = 1:  1 2
//         | |\.
// t = 2:  3 4 5   (4 reads 1, 5 reads 2)
BOOST_AUTO_TEST_CASE(a_tree_has_shorter_rows_first) {
  Graph graph{pattern_ops()};
  const std::array devices = {DeviceId::at(0), DeviceId::at(1), DeviceId::at(2)};
  append_pattern(graph, {.dependence = Dependence::tree, .width = 3, .steps = 3}, spins(devices),
                 "tree");
  BOOST_TEST(graph.size() == 6U);
  BOOST_TEST(inputs(graph, 1) == (Columns{0}));
  BOOST_TEST(inputs(graph, 2) == (Columns{0}));
  BOOST_TEST(inputs(graph, 3) == (Columns{1}));
  BOOST_TEST(inputs(graph, 4) == (Columns{1}));
  BOOST_TEST(inputs(graph, 5) == (Columns{2}));
  BOOST_TEST(graph.placement(OpId::at(2)).device.value == 1U);
}

BOOST_AUTO_TEST_CASE(points_know_their_pattern) {
  Graph graph{pattern_ops()};
  PointTask task;
  task.pattern = {.dependence = Dependence::fft, .width = 4, .steps = 3};
  task.output_bytes = 32;
  append_points(graph, task, {}, "points");
  BOOST_TEST(graph.size() == 12U);
  BOOST_TEST(graph.kind(OpId::at(11)).name == "point");
  BOOST_TEST((graph.attrs(OpId::at(11)) == to_attrs(task)));
  BOOST_TEST(graph.type(OpId::at(11)).bytes() == 32U);
  // t = 2: d = (2 + 1) mod 2 = 1, columns two apart.
  BOOST_TEST(inputs(graph, 11) == (Columns{5, 7}));
}

BOOST_AUTO_TEST_CASE(rows_are_the_same_ops_however_they_are_split_and_whatever_is_forgotten) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (std::size_t d = 0; d < dependences().size(); ++d) {
      Random random(mix(seed) + d);
      const auto width = static_cast<std::uint32_t>(3 + random.below(30));
      const Pattern pattern{.dependence = static_cast<Dependence>(d),
                            .width = width,
                            .steps = static_cast<std::uint32_t>(1 + random.below(40)),
                            .radix = std::min(width, 5U),
                            .fraction = 0.5,
                            .seed = seed};
      BOOST_TEST_CONTEXT("seed " << seed << ", " << dependences()[d].name) {
        // Appended after another pattern, so that no index is right by chance.
        Graph whole = stencil(2, 3).graph;
        append_pattern(whole, pattern, spins(three_devices), "rows");
        Graph split = stencil(2, 3).graph;
        PatternRows rows(split, pattern, spins(three_devices), "rows");
        std::uint32_t appended = 0;
        while (!rows.is_complete()) {
          const auto steps = static_cast<std::uint32_t>(random.below(8));
          const std::size_t before = split.size();
          rows.append(steps);
          appended = std::min(appended + steps, pattern.steps);
          BOOST_TEST_REQUIRE(split.size() == 6 + pattern.first_of_row(appended));
          BOOST_TEST_REQUIRE(same_ops(split, whole, before, split.size()));
          if (random.below(3) == 0) continue;
          split.forget_before(rows.last_row());
          BOOST_TEST_REQUIRE(same_ops(split, whole, rows.last_row().index(), split.size()));
        }
        BOOST_TEST(split.size() == whole.size());
        BOOST_TEST(split.group(rows.group()).count == pattern.points());
        BOOST_TEST(split.classes().size() == whole.classes().size());
      }
    }
  }
}

// t = 0:  0
//         |\.
// t = 1:  1 2
//         | |\.
// t = 2:  3 4 5
BOOST_AUTO_TEST_CASE(rows_know_where_the_last_one_begins_and_when_they_end) {
  Graph graph = stencil(2, 1).graph;
  PatternRows rows(graph, {.dependence = Dependence::tree, .width = 3, .steps = 3}, spins(),
                   "tree");
  BOOST_TEST(rows.group().value == 1U);
  BOOST_TEST(rows.last_row().value == 2U);
  BOOST_TEST(!rows.is_complete());
  rows.append(2);
  BOOST_TEST(rows.last_row().value == 2U + 1);
  rows.append(0);
  BOOST_TEST(rows.last_row().value == 2U + 1);
  BOOST_TEST(!rows.is_complete());
  // More rows than are left.
  rows.append(4);
  BOOST_TEST(rows.last_row().value == 2U + 3);
  BOOST_TEST(rows.is_complete());
  rows.append(1);
  BOOST_TEST(graph.size() == 2U + 6);
}

BOOST_AUTO_TEST_CASE(points_may_be_appended_in_rows) {
  PointTask task;
  task.pattern = {.dependence = Dependence::spread, .width = 5, .steps = 9};
  Graph whole{pattern_ops()};
  append_points(whole, task, three_devices, "points");
  Graph split{pattern_ops()};
  PatternRows rows(split, task.pattern, point_ops(split, task, three_devices), "points");
  while (!rows.is_complete()) rows.append(2);
  BOOST_TEST(split.size() == whole.size());
  BOOST_TEST(same_ops(split, whole, 0, whole.size()));
  BOOST_TEST((split.attrs(rows.last_row()) == to_attrs(task)));
}

BOOST_AUTO_TEST_CASE(a_pattern_that_can_not_be_is_refused) {
  Graph graph{pattern_ops()};
  testing::expect_error(ErrorKind::usage, "the width is 0",
                        [&] { append_pattern(graph, stencil_pattern(0, 2), spins(), "none"); });
  testing::expect_error(ErrorKind::usage, "the width is 0",
                        [&] { PatternRows(graph, stencil_pattern(0, 2), spins(), "none"); });
  BOOST_TEST(graph.group_count() == 0U);
  testing::expect_error(ErrorKind::usage, "the number of output bytes is 8", [&] {
    append_points(graph, {.pattern = stencil_pattern(2, 2), .output_bytes = 8}, {}, "none");
  });
}

BOOST_AUTO_TEST_SUITE_END()
