#include "core/base/random.hpp"
#include "core/graph/graph.hpp"
#include "tests/support/small_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(forgetting)
namespace {

using testing::on;
using testing::SmallGraph;

// a ─ b ─ c ══ d ─ e   (a and b are forgotten before e is appended)
BOOST_AUTO_TEST_CASE(ops_keep_their_ids_names_and_inputs_when_older_ones_are_forgotten) {
  SmallGraph g;
  const OpId a = g.work("a", 1);
  const OpId b = g.work("b", 2, {a});
  const OpId c = g.work("c", 3, {b}, on(DeviceId{1}));
  const OpId d = g.work("d", 4, {c, c});
  g.graph.forget_before(c);
  BOOST_TEST((g.graph.first() == c));
  BOOST_TEST(g.graph.size() == 4U);
  BOOST_TEST((g.graph.inputs(c)[0] == b));
  BOOST_TEST((g.graph.placement(c) == on(DeviceId{1})));
  BOOST_TEST(g.graph.inputs(d).size() == 2U);
  BOOST_TEST((g.graph.inputs(d)[1] == c));
  const OpId e = g.work("e", 5, {d});
  BOOST_TEST((e == OpId{4}));
  BOOST_TEST((g.graph.inputs(e)[0] == d));
  BOOST_TEST(g.graph.name(a) == "a");
  BOOST_TEST(g.graph.name(e) == "e");
  BOOST_TEST((g.graph.group_of(b) == g.graph.find_group("b")));
  // Forgotten already.
  g.graph.forget_before(a);
  BOOST_TEST((g.graph.first() == c));
}

BOOST_AUTO_TEST_CASE(a_graph_may_forget_all_its_ops_and_go_on) {
  SmallGraph g;
  for (int i = 0; i < 300; ++i) g.work("old", 1);
  g.graph.forget_before(OpId::at(300));
  BOOST_TEST((g.graph.first() == OpId{300}));
  const OpId x = g.work("x", 7);
  const OpId y = g.work("y", 7, {x});
  BOOST_TEST((x == OpId{300}));
  BOOST_TEST(g.graph.inputs(x).empty());
  BOOST_TEST((g.graph.inputs(y)[0] == x));
  BOOST_TEST(g.graph.attrs(y).get<double>("flops") == 7.0);
}

BOOST_AUTO_TEST_CASE(ops_like_forgotten_ones_have_the_same_class) {
  SmallGraph g;
  OpId last = g.work("x", 5);
  last = g.work("y", 5, {last});
  const std::uint32_t op_class = g.graph.class_index(last);
  for (int i = 0; i < 1000; ++i) {
    last = g.work("y", 5, {last});
    g.graph.forget_before(last);
    BOOST_TEST_REQUIRE(g.graph.class_index(last) == op_class);
  }
  BOOST_TEST(g.graph.classes().size() == 2U);
  BOOST_TEST(g.graph.types().size() == 1U);
}

// Measured by the addresses of the inputs.
BOOST_AUTO_TEST_CASE(inputs_take_the_place_of_forgotten_ones) {
  SmallGraph g;
  OpId last = g.work("x", 5);
  const OpTemplateId op_template = g.graph.op_class(last).op_template;
  std::set<const OpId*> places;
  for (int i = 0; i < 100'000; ++i) {
    last = g.graph.append(op_template, std::vector{last, last});
    places.insert(g.graph.inputs(last).data());
    if (i % 100 == 0) g.graph.forget_before(last);
  }
  BOOST_TEST(places.size() < 2'000U);
}

BOOST_AUTO_TEST_CASE(a_graph_that_forgets_is_the_one_that_does_not_as_far_as_it_remembers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      SmallGraph forgets;
      SmallGraph keeps;
      const std::uint64_t inputs_max = 1 + random.below(8);
      for (std::size_t op = 0; op < 2000; ++op) {
        std::vector<OpId> inputs;
        const std::size_t first = forgets.graph.first().index();
        if (first < op) {
          for (std::uint64_t i = random.below(inputs_max + 1); i > 0; --i) {
            inputs.push_back(OpId::at(first + random.below(op - first)));
          }
        }
        const double ns = 1 + static_cast<double>(random.below(3));
        const auto bytes = static_cast<std::int64_t>(8 + 8 * random.below(3));
        for (SmallGraph* g : {&forgets, &keeps}) g->work("op", ns, inputs, {}, bytes);
        if (random.below(50) != 0) continue;
        forgets.graph.forget_before(OpId::at(first + random.below(op + 2 - first)));
        BOOST_TEST_REQUIRE(forgets.graph.size() == keeps.graph.size());
        for (std::size_t i = forgets.graph.first().index(); i < keeps.graph.size(); ++i) {
          const OpId kept = OpId::at(i);
          const auto expected = keeps.graph.inputs(kept);
          BOOST_TEST_REQUIRE(std::ranges::equal(forgets.graph.inputs(kept), expected));
          BOOST_TEST_REQUIRE(forgets.graph.class_index(kept) == keeps.graph.class_index(kept));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
