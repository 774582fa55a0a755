#include "core/machine/memory_tree.hpp"

#include "core/base/random.hpp"
#include "tests/support/random_cluster.hpp"
#include "tests/support/small_machine.hpp"

#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(memory_tree)
namespace {

using testing::SmallMachine;

// host0 ── switch ── host1 ── vram0      lonely
//                      │   ╲    │
//                      │    ╲   │
//                    disk     vram1
struct TwoNodes : SmallMachine {
  MemoryId host0 = memory("host0");
  MemoryId host1 = memory("host1");
  MemoryId vram0 = memory("vram0");
  MemoryId vram1 = memory("vram1");
  MemoryId disk = memory("disk");
  MemoryId hub = memory("switch");
  MemoryId lonely = memory("lonely");
  TwoNodes() {
    link("pcie0", host1, vram0);
    link("pcie1", host1, vram1);
    link("bridge", vram0, vram1);
    link("sata", host1, disk);
    link("cable0", host0, hub);
    link("cable1", host1, hub);
    link("second", host1, hub);
  }
};

BOOST_AUTO_TEST_CASE(the_gate_of_a_memory_is_where_all_its_routes_to_the_root_go_through) {
  const TwoNodes m;
  const MemoryTree tree(m.machine);
  BOOST_TEST(!tree.gate(m.host0));
  BOOST_TEST((tree.gate(m.hub) == m.host0));
  BOOST_TEST((tree.gate(m.host1) == m.hub));
  BOOST_TEST((tree.gate(m.vram0) == m.host1));
  BOOST_TEST((tree.gate(m.vram1) == m.host1));
  BOOST_TEST((tree.gate(m.disk) == m.host1));
  BOOST_TEST(tree.depth(m.disk) == 3U);
}

BOOST_AUTO_TEST_CASE(memories_are_in_a_block_if_none_other_parts_them) {
  const TwoNodes m;
  const MemoryTree tree(m.machine);
  BOOST_TEST(tree.block(m.vram0) == tree.block(m.vram1));
  BOOST_TEST(tree.block(m.disk) != tree.block(m.vram0));
  BOOST_TEST(tree.members(tree.block(m.vram0)).size() == 2U);
  BOOST_TEST(tree.members(tree.block(m.host1)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_memory_without_links_is_an_island) {
  const TwoNodes m;
  const MemoryTree tree(m.machine);
  BOOST_TEST((tree.root(m.lonely) == m.lonely));
  BOOST_TEST((tree.root(m.disk) == m.host0));
  BOOST_TEST(tree.roots().size() == 2U);
}

// Takes `without` away: whether links still join the others.
bool are_joined(const Machine& machine, MemoryId a, MemoryId b, MemoryId without) {
  std::vector<bool> is_reached(machine.memories.size(), false);
  is_reached[a.index()] = true;
  for (std::size_t round = 0; round < machine.memories.size(); ++round) {
    for (const Link& link : machine.links) {
      if (link.a == without || link.b == without) continue;
      if (is_reached[link.a.index()] || is_reached[link.b.index()]) {
        is_reached[link.a.index()] = is_reached[link.b.index()] = true;
      }
    }
  }
  return is_reached[b.index()];
}

BOOST_AUTO_TEST_CASE(without_its_first_memory_a_region_of_a_random_machine_is_cut_off) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      const Machine machine = testing::random_cluster(random);
      const MemoryTree tree(machine);
      const std::size_t count = machine.memories.size();
      const auto is_behind = [&](MemoryId m, MemoryId first) {
        return tree.begin(m) > tree.begin(first) && tree.begin(m) < tree.end(first);
      };
      for (std::size_t f = 0; f < count; ++f) {
        const MemoryId first = MemoryId::at(f);
        const MemoryId root = tree.root(first);
        for (std::size_t i = 0; i < count && root != first; ++i) {
          const MemoryId m = MemoryId::at(i);
          if (m == first || tree.root(m) != root) continue;
          BOOST_REQUIRE(are_joined(machine, root, m, first) == !is_behind(m, first));
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
