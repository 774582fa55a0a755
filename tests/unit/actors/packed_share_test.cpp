#include "actors/nodes/packed_share.hpp"

#include "core/base/random.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/node_message.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"
#include "tests/support/stream_windows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(packed_share)
namespace {

using testing::cut;
using testing::expect_error;
using testing::plan_by_rates;
using testing::RandomCase;
using testing::read;
using testing::received;
using testing::SmallGraph;
using testing::written;

void check_kernels(const Share& share, const Share& sent) {
  BOOST_TEST_REQUIRE(share.kernels.size() == sent.kernels.size());
  for (std::size_t k = 0; k < sent.kernels.size(); ++k) {
    const Share::Kernel& a = share.kernels[k];
    const Share::Kernel& b = sent.kernels[k];
    BOOST_TEST((a.kind == b.kind));
    BOOST_TEST((a.attrs == nullptr) == (b.attrs == nullptr));
    BOOST_TEST((b.attrs == nullptr || *a.attrs == *b.attrs));
    BOOST_TEST((a.expected == b.expected));
    BOOST_TEST((a.in_place_of == b.in_place_of));
    BOOST_TEST(a.adopts == b.adopts);
    BOOST_TEST(a.further == b.further);
    BOOST_TEST(a.is_further == b.is_further);
    BOOST_TEST(a.is_plain == b.is_plain);
    for (std::size_t other = 0; other < k; ++other) {
      BOOST_TEST((a.attrs == share.kernels[other].attrs) == (b.attrs == sent.kernels[other].attrs));
    }
  }
}

void check_items(const Share& share, const Share& sent) {
  BOOST_TEST_REQUIRE(share.items.size() == sent.items.size());
  for (std::size_t i = 0; i < sent.items.size(); ++i) {
    const Share::Item& a = share.items[i];
    const Share::Item& b = sent.items[i];
    BOOST_TEST((a.unit == b.unit));
    BOOST_TEST(a.waits_for == b.waits_for);
    BOOST_TEST(a.first_input == b.first_input);
    BOOST_TEST(a.first_successor == b.first_successor);
    BOOST_TEST(a.work == b.work);
    BOOST_TEST(a.index == b.index);
    BOOST_TEST(a.has_late == b.has_late);
    BOOST_TEST(a.is_further == b.is_further);
    BOOST_TEST((a.start == Share::never && a.end == Share::never));
  }
}

void check_moves(const Share& share, const Share& sent) {
  BOOST_TEST_REQUIRE(share.moves.size() == sent.moves.size());
  for (std::size_t m = 0; m < sent.moves.size(); ++m) {
    const Share::Move& a = share.moves[m];
    const Share::Move& b = sent.moves[m];
    BOOST_TEST(a.bytes == b.bytes);
    BOOST_TEST((a.expected.latency == b.expected.latency));
    BOOST_TEST((a.expected.wire == b.expected.wire));
    BOOST_TEST(a.chunks == b.chunks);
    BOOST_TEST((a.direction == b.direction));
    BOOST_TEST(a.paced == b.paced);
    BOOST_TEST(a.paces == b.paces);
  }
  BOOST_TEST_REQUIRE(share.chunks.size() == sent.chunks.size());
  for (const Share::Chunks& chunks : share.chunks) BOOST_TEST(chunks.here == 0U);
}

void check_same(const Share& share, const Share& sent) {
  BOOST_TEST(share.window == sent.window);
  BOOST_TEST(share.timed == sent.timed);
  check_items(share, sent);
  check_kernels(share, sent);
  check_moves(share, sent);
  BOOST_TEST(std::ranges::equal(share.successors, sent.successors, {}, &Share::Successor::value,
                                &Share::Successor::value));
  BOOST_TEST((share.inputs == sent.inputs));
  BOOST_TEST((share.elsewhere == sent.elsewhere));
  BOOST_TEST(share.first_arrival == sent.first_arrival);
  BOOST_TEST(share.arrivals == sent.arrivals);
  BOOST_TEST(share.first_items == sent.first_items);
  BOOST_TEST(std::ranges::equal(share.late, sent.late, [](const auto& a, const auto& b) {
    return a.window == b.window && a.item == b.item && a.to == b.to;
  }));
}

// What occurred in the shares that were compared.
struct Occurred {
  bool arrivals = false, late = false, moves = false, further = false, elsewhere = false;

  void in(const Share& share) {
    arrivals |= !share.arrivals.empty();
    late |= !share.late.empty();
    moves |= !share.moves.empty();
    elsewhere |= !share.elsewhere.empty();
    for (const Share::Kernel& kernel : share.kernels) further |= kernel.further > 0;
  }
};

BOOST_AUTO_TEST_CASE(shares_of_random_plans_arrive_as_they_were_sent) {
  Occurred occurred;
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(60); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      Plan plan = plan_by_rates(c.graph, c.machine, c.scenario, {});
      if (seed % 2 == 0) testing::stream_windows(plan);
      for (const Window& window : plan.windows) {
        for (const auto& [resource, share] : window.shares) {
          std::deque<Attrs> attrs;
          check_same(received(PackedShare(share)).unpack(c.graph.kinds(), attrs), share);
          occurred.in(share);
        }
      }
    }
  }
  BOOST_TEST(occurred.arrivals);
  BOOST_TEST(occurred.late);
  BOOST_TEST(occurred.moves);
  BOOST_TEST(occurred.further);
  BOOST_TEST(occurred.elsewhere);
}

// dev0: x ──► y        dev1: y ──► z, its sum and double;  x, y ──► w
struct SmallShares {
  Machine machine = testing::two_devices();
  SmallGraph g;
  Plan plan;

  SmallShares() {
    const OpId x = g.work("x", 10, {}, testing::on(DeviceId{0}));
    const OpId y = g.op("y", "scale", {x}, testing::on(DeviceId{0}), {{"alpha", 0.5}});
    g.op("z", "half", {y}, testing::on(DeviceId{1}));
    g.op("w", "add", {y, x}, testing::on(DeviceId{1}));
    plan = plan_by_rates(g.graph, machine, g.everything(), {});
  }
};

BOOST_FIXTURE_TEST_CASE(a_share_that_is_cut_off_anywhere_is_refused, SmallShares) {
  for (const auto& [resource, share] : plan.windows.front().shares) {
    const std::vector<char> whole = written(PackedShare(share));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      PackedShare packed;
      const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
      BOOST_TEST(!read({whole.begin(), end}, packed));
    }
    for (std::size_t size = 0; size + 8 < whole.size(); ++size) {
      PackedShare packed;
      BOOST_TEST_REQUIRE(read(cut(whole, size), packed));
      std::deque<Attrs> attrs;
      expect_error(ErrorKind::failed, "a message of another node is damaged",
                   [&] { packed.unpack(g.graph.kinds(), attrs); });
    }
  }
}

// Reads what actors use as an index. A sanitizer finds what is out of bounds.
std::uint64_t sum_of(const Share& share) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    for (const Share::Successor next : share.successors_of(i)) {
      sum += next.is_elsewhere() ? share.elsewhere[next.place()].item
                                 : share.items[next.place()].unit.value;
    }
    for (const ReplicaId input : share.inputs_of(i)) sum += input.value;
    sum += static_cast<std::uint64_t>(share.expected(i).count());
  }
  for (std::uint32_t a = 0; a + 1 < share.first_arrival.size(); ++a) {
    for (const std::uint32_t item : share.items_of_arrival(a)) sum += share.items[item].waits_for;
  }
  for (const std::uint32_t item : share.first_items) sum += share.items[item].waits_for;
  return sum;
}

BOOST_FIXTURE_TEST_CASE(a_share_with_a_wrong_byte_is_refused_or_can_be_read, SmallShares) {
  Random random(5);
  const ResourceShares& shares = plan.windows.front().shares;
  std::uint64_t refused = 0;
  std::uint64_t sum = 0;
  for (int attempt = 0; attempt < 20'000; ++attempt) {
    std::vector<char> bytes = written(PackedShare(shares[random.below(shares.size())].second));
    bytes[8 + random.below(bytes.size() - 8)] = static_cast<char>(random.below(256));
    PackedShare packed;
    BOOST_TEST_REQUIRE(read(bytes, packed));
    std::deque<Attrs> attrs;
    try {
      sum += sum_of(packed.unpack(g.graph.kinds(), attrs));
    } catch (const Error& error) {
      BOOST_TEST_REQUIRE((error.kind() == ErrorKind::failed));
      ++refused;
    }
  }
  BOOST_TEST(refused > 1000U);
  BOOST_TEST(sum > 0U);
}

BOOST_AUTO_TEST_CASE(an_empty_message_of_a_share_is_refused) {
  std::deque<Attrs> attrs;
  expect_error(ErrorKind::failed, "damaged",
               [&] { received(PackedShare()).unpack(builtin_ops(), attrs); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
