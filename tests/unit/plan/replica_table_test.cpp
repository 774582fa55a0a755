#include "core/plan/replica_table.hpp"

#include "core/base/random.hpp"
#include "tests/support/seeds.hpp"

#include <cstdint>
#include <map>
#include <utility>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(replica_table)
namespace {

BOOST_AUTO_TEST_CASE(a_replica_is_found_by_its_tensor_and_its_memory) {
  ReplicaTable table;
  table.add(OpId{7}, MemoryId{1}, ReplicaId{20});
  table.add(OpId{7}, MemoryId{2}, ReplicaId{21});
  table.add(OpId{8}, MemoryId{1}, ReplicaId{22});
  BOOST_TEST((table.find(OpId{7}, MemoryId{1}) == ReplicaId{20}));
  BOOST_TEST((table.find(OpId{7}, MemoryId{2}) == ReplicaId{21}));
  BOOST_TEST((table.find(OpId{8}, MemoryId{1}) == ReplicaId{22}));
}

BOOST_AUTO_TEST_CASE(what_was_not_added_is_not_found) {
  ReplicaTable table;
  BOOST_TEST((table.find(OpId{7}, MemoryId{1}) == ReplicaId::none()));
  table.add(OpId{7}, MemoryId{1}, ReplicaId{20});
  BOOST_TEST((table.find(OpId{1}, MemoryId{7}) == ReplicaId::none()));
  BOOST_TEST((table.find(OpId{7}, MemoryId{0}) == ReplicaId::none()));
  BOOST_TEST((table.find(OpId{8}, MemoryId{1}) == ReplicaId::none()));
}

// The same operations on a table and a map. Tensors are added and forgotten in ascending order, as
// the ops of a stream are.
BOOST_AUTO_TEST_CASE(a_table_agrees_with_a_map_after_random_additions_and_forgetting) {
  for (std::uint64_t seed = 0; seed < testing::usual_seeds(50); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      Random random(seed);
      ReplicaTable table;
      std::map<std::pair<OpId, MemoryId>, ReplicaId> map;
      const auto memories = static_cast<std::uint32_t>(1 + random.below(70));
      const auto kept = static_cast<std::uint32_t>(1 + random.below(50));
      std::uint32_t replicas = 0;
      for (std::uint32_t newest = 0; newest < 400; ++newest) {
        const std::uint32_t oldest = newest < kept ? 0 : newest - kept;
        table.forget_before(OpId{oldest});
        std::erase_if(map, [&](const auto& known) { return known.first.first < OpId{oldest}; });
        for (std::uint64_t n = random.below(8); n > 0; --n) {
          const OpId tensor{oldest + static_cast<std::uint32_t>(random.below(newest - oldest + 1))};
          const MemoryId memory{static_cast<std::uint32_t>(random.below(memories))};
          if (!map.try_emplace({tensor, memory}, ReplicaId{replicas}).second) continue;
          table.add(tensor, memory, ReplicaId{replicas++});
        }
        for (int n = 0; n < 20; ++n) {
          const OpId tensor{oldest + static_cast<std::uint32_t>(random.below(newest - oldest + 1))};
          const MemoryId memory{static_cast<std::uint32_t>(random.below(memories))};
          const auto known = map.find({tensor, memory});
          const ReplicaId wanted = known == map.end() ? ReplicaId::none() : known->second;
          BOOST_TEST_REQUIRE((table.find(tensor, memory) == wanted));
        }
      }
      for (const auto& [at, replica] : map) {
        BOOST_TEST_REQUIRE((table.find(at.first, at.second) == replica));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_is_bounded_by_the_tensors_that_are_not_forgotten) {
  ReplicaTable table;
  for (std::uint32_t tensor = 0; tensor < 100'000; ++tensor) {
    table.add(OpId{tensor}, MemoryId{tensor % 3}, ReplicaId{tensor});
    if (tensor >= 100) table.forget_before(OpId{tensor - 100});
  }
  BOOST_TEST(table.capacity() <= 8 * 100U);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
