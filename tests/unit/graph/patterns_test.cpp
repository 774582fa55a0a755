#include "core/graph/patterns.hpp"

#include <array>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

// The columns that op (t, i) of a stencil of this width reads, t > 0.
std::vector<std::uint32_t> stencil_columns(std::uint32_t width, std::uint32_t i) {
  std::vector<std::uint32_t> columns;
  find_pattern("stencil_1d")->dependences({.width = width, .steps = 2}, 1, i, columns);
  return columns;
}

struct Grid {
  Graph graph;
  GroupId group;
};

Grid stencil(PatternSize size, std::span<const DeviceId> devices = {}) {
  Grid grid;
  const PatternOps ops{
      .kernel = builtin_ops().find("spin"), .attrs = {std::int64_t{4}}, .devices = devices};
  grid.group = append_pattern(grid.graph, *find_pattern("stencil_1d"), size, ops, "grid");
  return grid;
}

std::vector<std::uint32_t> inputs(const Graph& graph, std::size_t op) {
  std::vector<std::uint32_t> result;
  for (const OpId input : graph.inputs(OpId::at(op))) result.push_back(input.value);
  return result;
}

using Columns = std::vector<std::uint32_t>;

}  // namespace

BOOST_AUTO_TEST_SUITE(pattern_graphs)

BOOST_AUTO_TEST_CASE(a_stencil_reads_both_neighbours_as_far_as_they_exist) {
  BOOST_TEST(stencil_columns(1, 0) == (Columns{0}));
  BOOST_TEST(stencil_columns(2, 0) == (Columns{0, 1}));
  BOOST_TEST(stencil_columns(2, 1) == (Columns{0, 1}));
  BOOST_TEST(stencil_columns(4, 0) == (Columns{0, 1}));
  BOOST_TEST(stencil_columns(4, 1) == (Columns{0, 1, 2}));
  BOOST_TEST(stencil_columns(4, 3) == (Columns{2, 3}));
}

BOOST_AUTO_TEST_CASE(no_op_has_more_inputs_than_its_pattern_says) {
  for (const Pattern& pattern : patterns()) {
    for (const std::uint32_t width : {1U, 2U, 3U, 4U, 7U, 8U}) {
      const PatternSize size{.width = width, .steps = 5};
      for (std::uint32_t t = 1; t < size.steps; ++t) {
        for (std::uint32_t i = 0; i < width; ++i) {
          Columns columns;
          pattern.dependences(size, t, i, columns);
          BOOST_TEST(columns.size() <= pattern.inputs_max(size));
          BOOST_TEST(std::is_sorted(columns.begin(), columns.end()));
          for (const std::uint32_t column : columns) BOOST_TEST(column < width);
        }
      }
    }
  }
}

// t = 0:   0   1   2
//          |\ /|\ /|
// t = 1:   3   4   5
//          |\ /|\ /|
// t = 2:   6   7   8
BOOST_AUTO_TEST_CASE(a_pattern_is_appended_in_row_order) {
  const Grid grid = stencil({.width = 3, .steps = 3});
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
  const Grid grid = stencil({.width = 1, .steps = 3});
  BOOST_TEST(inputs(grid.graph, 0) == Columns{});
  BOOST_TEST(inputs(grid.graph, 1) == (Columns{0}));
  BOOST_TEST(inputs(grid.graph, 2) == (Columns{1}));
}

BOOST_AUTO_TEST_CASE(a_pattern_appended_to_others_reads_its_own_ops_only) {
  Grid grid = stencil({.width = 2, .steps = 2});
  append_pattern(grid.graph, *find_pattern("stencil_1d"), {.width = 2, .steps = 2},
                 {.kernel = builtin_ops().find("spin"), .attrs = {std::int64_t{4}}}, "second");
  BOOST_TEST(inputs(grid.graph, 4) == Columns{});
  BOOST_TEST(inputs(grid.graph, 6) == (Columns{4, 5}));
}

BOOST_AUTO_TEST_CASE(columns_are_dealt_to_devices_in_contiguous_blocks) {
  const std::array devices = {DeviceId::at(7), DeviceId::at(8)};
  const Grid grid = stencil({.width = 5, .steps = 2}, devices);
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

BOOST_AUTO_TEST_CASE(an_unknown_pattern_is_not_found) {
  BOOST_TEST(find_pattern("stencil") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
