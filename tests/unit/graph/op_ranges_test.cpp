#include "core/graph/op_ranges.hpp"

#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(op_ranges)
namespace {

std::vector<std::uint32_t> values(const OpRanges& ops) {
  std::vector<std::uint32_t> values;
  for (const OpId op : ops) values.push_back(op.value);
  return values;
}

using Values = std::vector<std::uint32_t>;

BOOST_AUTO_TEST_CASE(ops_come_in_the_order_in_which_they_were_appended) {
  OpRanges ops;
  ops.append(OpId{7}, 3);
  ops.append(OpId{10});
  ops.append(OpId{2}, 2);
  ops.append(OpId{4}, 0);
  BOOST_TEST((values(ops) == Values{7, 8, 9, 10, 2, 3}));
  BOOST_TEST(ops.size() == 6U);
  BOOST_TEST(ops.front().value == 7U);
}

BOOST_AUTO_TEST_CASE(a_list_without_ops_has_nothing_to_go_through) {
  OpRanges ops;
  BOOST_TEST(ops.empty());
  ops.append(OpId{5}, 0);
  ops.append(OpRanges());
  ops.sort();
  BOOST_TEST(ops.empty());
  BOOST_TEST((ops.begin() == ops.end()));
  BOOST_TEST((ops == OpRanges()));
}

BOOST_AUTO_TEST_CASE(sorted_they_come_in_graph_order) {
  OpRanges ops{OpId{9}, OpId{4}, OpId{5}, OpId{8}, OpId{1}};
  ops.sort();
  BOOST_TEST((values(ops) == Values{1, 4, 5, 8, 9}));
  BOOST_TEST(ops.size() == 5U);
}

BOOST_AUTO_TEST_CASE(lists_of_the_same_ops_in_the_same_order_are_equal_however_they_were_made) {
  OpRanges whole;
  whole.append(OpId{3}, 4);
  const OpRanges single{OpId{3}, OpId{4}, OpId{5}, OpId{6}};
  OpRanges sorted{OpId{5}, OpId{6}, OpId{3}, OpId{4}};
  BOOST_TEST((whole == single));
  BOOST_TEST((whole != sorted));
  sorted.sort();
  BOOST_TEST((whole == sorted));
  OpRanges joined;
  joined.append(OpRanges{OpId{3}, OpId{4}});
  joined.append(OpRanges{OpId{5}, OpId{6}});
  BOOST_TEST((whole == joined));
}

BOOST_AUTO_TEST_CASE(the_highest_ids_fit) {
  OpRanges ops;
  ops.append(OpId{OpId::none_value - 2}, 2);
  BOOST_TEST((values(ops) == Values{OpId::none_value - 2, OpId::none_value - 1}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
