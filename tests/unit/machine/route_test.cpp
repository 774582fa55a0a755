#include "core/machine/route.hpp"

#include "tests/support/small_machine.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(routes)
namespace {

using testing::SmallMachine;
using namespace std::chrono_literals;

constexpr Direction there = Direction::forward;
constexpr Direction back = Direction::backward;

// a ──ab── b     c
BOOST_AUTO_TEST_CASE(a_memory_reaches_itself_by_no_link_and_a_lonely_one_by_none) {
  SmallMachine m;
  const MemoryId a = m.memory("a");
  const MemoryId b = m.memory("b");
  const MemoryId c = m.memory("c");
  const LinkId ab = m.link("ab", a, b);
  Router router(m.machine);
  BOOST_REQUIRE(router.route(a, a));
  BOOST_TEST(router.route(a, a)->empty());
  BOOST_REQUIRE(router.route(a, b));
  BOOST_TEST((*router.route(a, b) == Route{{ab, there}}));
  BOOST_TEST((*router.route(b, a) == Route{{ab, back}}));
  BOOST_TEST(!router.route(a, c));
  BOOST_TEST(!router.route(c, b));
}

// gpu0 ──pcie0── host ──pcie1── gpu1
BOOST_AUTO_TEST_CASE(a_route_crosses_links_in_either_direction) {
  SmallMachine m;
  const MemoryId gpu0 = m.memory("gpu0");
  const MemoryId host = m.memory("host");
  const MemoryId gpu1 = m.memory("gpu1");
  const LinkId pcie0 = m.link("pcie0", host, gpu0);
  const LinkId pcie1 = m.link("pcie1", host, gpu1);
  Router router(m.machine);
  BOOST_TEST((*router.route(gpu0, gpu1) == Route{{pcie0, back}, {pcie1, there}}));
  BOOST_TEST((*router.route(gpu1, gpu0) == Route{{pcie1, back}, {pcie0, there}}));
}

// a ── slow ── b      1 MiB takes 10 ms directly, 2 ms through c
//  \          /
//   ─── c ───
BOOST_AUTO_TEST_CASE(a_detour_is_taken_where_it_is_quicker) {
  SmallMachine m;
  const MemoryId a = m.memory("a");
  const MemoryId b = m.memory("b");
  const MemoryId c = m.memory("c");
  const LinkId slow = m.link("slow", a, b);
  m.machine.links[slow.index()].bandwidth[0] = 1e8;
  const LinkId ac = m.link("ac", a, c);
  const LinkId cb = m.link("cb", c, b);
  Router router(m.machine);
  BOOST_TEST((*router.route(a, b) == Route{{ac, there}, {cb, there}}));
  // The other direction of the direct link is as quick as the others.
  BOOST_TEST((*router.route(b, a) == Route{{slow, back}}));
}

// a ══ b with a latency of 5 ms on the first link and none on the second
BOOST_AUTO_TEST_CASE(latency_counts_and_among_equals_the_lower_link_wins) {
  SmallMachine m;
  const MemoryId a = m.memory("a");
  const MemoryId b = m.memory("b");
  const LinkId late = m.link("late", a, b, 5ms);
  const LinkId quick = m.link("quick", a, b);
  m.link("same", a, b);
  Router router(m.machine);
  BOOST_TEST((*router.route(a, b) == Route{{quick, there}}));
  m.machine.links[late.index()].latency = 0ms;
  Router fresh(m.machine);
  BOOST_TEST((*fresh.route(a, b) == Route{{late, there}}));
}

// m0 ── m1 ── m2 ── … ── m7, a ring
BOOST_AUTO_TEST_CASE(on_a_ring_the_shorter_way_round_is_taken) {
  SmallMachine m;
  for (int i = 0; i < 8; ++i) m.memory("m");
  for (std::size_t i = 0; i < 8; ++i) {
    m.link("l", MemoryId::at(i), MemoryId::at((i + 1) % 8));
  }
  Router router(m.machine);
  for (std::size_t from = 0; from < 8; ++from) {
    for (std::size_t to = 0; to < 8; ++to) {
      const std::size_t steps = (to + 8 - from) % 8;
      const Route* route = router.route(MemoryId::at(from), MemoryId::at(to));
      BOOST_REQUIRE(route);
      BOOST_TEST(route->size() == std::min(steps, 8 - steps));
      MemoryId at = MemoryId::at(from);
      for (const Hop& hop : *route) {
        BOOST_TEST((m.machine.link(hop.link).source(hop.direction) == at));
        at = m.machine.link(hop.link).target(hop.direction);
      }
      BOOST_TEST((at == MemoryId::at(to)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_route_stays_valid_while_others_are_asked_for) {
  SmallMachine m;
  for (int i = 0; i < 20; ++i) m.memory("m");
  for (std::size_t i = 0; i + 1 < 20; ++i) m.link("l", MemoryId::at(i), MemoryId::at(i + 1));
  Router router(m.machine);
  const Route* first = router.route(MemoryId{0}, MemoryId{19});
  const Route copy = *first;
  for (std::size_t from = 0; from < 20; ++from) router.route(MemoryId::at(from), MemoryId{3});
  BOOST_TEST((*first == copy));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
