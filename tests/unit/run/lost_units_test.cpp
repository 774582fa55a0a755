#include "core/run/lost_units.hpp"

#include "tests/support/share_maker.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(units_that_are_lost)
namespace {

using testing::Item;
using testing::make_share;

// Unit 0 is made by resource 0. It goes to resource 3, which reads it in unit 3, over resources 1
// and 2: units 1 and 2. Unit 4, of resource 3, reads nothing.
class Route {
 public:
  Route() {
    add(make_share(ResourceId{0}, {{}}, 0, true, 0));
    add(make_share(ResourceId{1}, {{.move = Share::Move{.paces = true}}}, 0, true, 1));
    add(make_share(ResourceId{2}, {{.move = Share::Move{.paced = true}}}, 0, true, 2));
    add(make_share(ResourceId{3}, {{}, {}}, 0, true, 3));
    for (std::size_t r = 1; r < shares_.size(); ++r) {
      Share& share = shares_[r];
      share.inputs = {ReplicaId::at(r - 1)};
      for (std::size_t i = 1; i < share.items.size(); ++i) share.items[i].first_input = 1;
    }
  }

  void finish(std::size_t resource) { shares_[resource].items[0].end = Instant{}; }

  std::vector<std::uint32_t> lost_with(std::size_t resource) {
    std::vector<SentShare> sent;
    for (std::size_t r = shares_.size(); r-- > 0;) sent.emplace_back(ResourceId::at(r), shares_[r]);
    std::vector<bool> is_lost(shares_.size(), false);
    is_lost[resource] = true;
    std::vector<std::uint32_t> units;
    for (const UnitId unit : lost_units(sent, is_lost)) units.push_back(unit.value);
    return units;
  }

 private:
  void add(Share share) { shares_.push_back(std::move(share)); }

  std::vector<Share> shares_;
};

using Units = std::vector<std::uint32_t>;

BOOST_AUTO_TEST_CASE(what_reads_a_lost_unit_is_lost_too) {
  BOOST_TEST((Route().lost_with(0) == Units{0, 1, 2, 3}));
  BOOST_TEST((Route().lost_with(3) == Units{3, 4}));
}

BOOST_AUTO_TEST_CASE(a_transfer_that_hands_its_chunks_to_a_lost_link_is_lost) {
  BOOST_TEST((Route().lost_with(2) == Units{1, 2, 3}));
}

BOOST_AUTO_TEST_CASE(what_has_finished_is_not_lost_and_neither_is_what_reads_it) {
  Route route;
  route.finish(0);
  BOOST_TEST(route.lost_with(0).empty());
  route.finish(1);
  BOOST_TEST((route.lost_with(2) == Units{2, 3}));
  route.finish(3);
  BOOST_TEST((route.lost_with(3) == Units{4}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
