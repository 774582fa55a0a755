#include "core/machine/route.hpp"

#include "tests/support/random_cluster.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <limits>
#include <vector>

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

double probe_s(const Link& link, Direction direction) {
  return seconds(link.latency) + (1 << 20) / link.bandwidth[static_cast<int>(direction)];
}

// By memories: the shortest times by Floyd and Warshall's algorithm.
std::vector<std::vector<double>> shortest_times(const Machine& machine) {
  const std::size_t n = machine.memories.size();
  std::vector<std::vector<double>> times(
      n, std::vector<double>(n, std::numeric_limits<double>::infinity()));
  for (std::size_t m = 0; m < n; ++m) times[m][m] = 0;
  for (const Link& link : machine.links) {
    for (const Direction d : {there, back}) {
      double& time = times[link.source(d).index()][link.target(d).index()];
      time = std::min(time, probe_s(link, d));
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        times[a][b] = std::min(times[a][b], times[a][k] + times[k][b]);
      }
    }
  }
  return times;
}

BOOST_AUTO_TEST_CASE(no_route_of_a_random_machine_can_be_shortened) {
  for (std::uint64_t seed = 0; seed < testing::usual_seeds(300); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      const Machine machine = testing::random_cluster(random);
      const auto shortest = shortest_times(machine);
      Router router(machine);
      for (std::size_t a = 0; a < machine.memories.size(); ++a) {
        for (std::size_t b = 0; b < machine.memories.size(); ++b) {
          const Route* const route = router.route(MemoryId::at(a), MemoryId::at(b));
          BOOST_REQUIRE((route != nullptr) == (shortest[a][b] < 1e9));
          if (route == nullptr) continue;
          double time_s = 0;
          MemoryId at = MemoryId::at(a);
          for (const Hop& hop : *route) {
            BOOST_REQUIRE((machine.link(hop.link).source(hop.direction) == at));
            at = machine.link(hop.link).target(hop.direction);
            time_s += probe_s(machine.link(hop.link), hop.direction);
          }
          BOOST_REQUIRE((at == MemoryId::at(b)));
          BOOST_REQUIRE(time_s <= shortest[a][b] * (1 + 1e-9));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
