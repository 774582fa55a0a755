#include "core/run/link_logic.hpp"

#include "tests/support/share_maker.hpp"
#include "tests/support/share_view.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(link_logic)
namespace {

using testing::Item;
using testing::make_share;
using testing::told;
using testing::Told;
using Items = std::vector<std::uint32_t>;

constexpr ResourceId self{2};
constexpr ResourceId next_link{3};
constexpr ResourceId device{0};
constexpr Direction forward = Direction::forward;
constexpr Direction backward = Direction::backward;

// A transfer of `chunks` pages, each of which takes 100 ns.
Item pages(std::uint16_t chunks, Direction direction = forward) {
  return {.expected = Duration{100} * chunks,
          .move = Share::Move{.bytes = 4096ULL * chunks, .chunks = chunks, .direction = direction}};
}
// The same, but the chunks arrive over the previous link of a route.
Item paced_pages(std::uint16_t chunks) {
  Item item = pages(chunks);
  item.waits_for = 1;
  item.move->paced = true;
  return item;
}

// A LinkLogic whose invariants are checked after every event. Its clock advances by the expected
// time of each chunk.
class Wire {
 public:
  explicit Wire(Sharing sharing, IssueAhead ahead = {}, std::uint64_t turn_bytes = 0)
      : logic_(self, sharing, std::move(ahead), turn_bytes) {}

  void share(const std::vector<Item>& items, bool timed = true, std::uint32_t window = 0,
             std::vector<Share::LateEdge> late = {}) {
    Share share = make_share(self, items, window, timed);
    share.late = std::move(late);
    logic_.on_share(std::move(share));
    logic_.check_invariants();
  }
  void notice(const Items& items, std::uint32_t window = 0) {
    logic_.on_notice(window, items);
    logic_.check_invariants();
  }
  // Starts the next chunk, which must move in this direction. Returns nullopt if none can move.
  std::optional<LinkLogic::Start> start(Direction direction = forward) {
    const LinkLogic::Start* next = logic_.next();
    logic_.check_invariants();
    if (next == nullptr) return std::nullopt;
    BOOST_TEST(next->slot == static_cast<std::uint32_t>(direction));
    return *next;
  }
  void finish(const LinkLogic::Start& chunk) {
    logic_.on_started(chunk.slot, now_);
    now_ += chunk.expected;
    logic_.on_finished(chunk.slot, now_);
    logic_.check_invariants();
  }
  // Starts and finishes one chunk. Returns its item, or nullopt if none can move.
  std::optional<std::uint32_t> move_one() {
    const auto chunk = start();
    if (!chunk) return std::nullopt;
    finish(*chunk);
    return chunk->item;
  }
  Items move_all() {
    Items order;
    while (const auto item = move_one()) order.push_back(*item);
    return order;
  }
  // Moves all chunks that can move. Returns their windows.
  Items move_windows() {
    Items windows;
    while (const auto chunk = start()) {
      windows.push_back(chunk->part->share.window);
      finish(*chunk);
    }
    return windows;
  }
  LinkLogic& logic() { return logic_; }
  const Share& current_share() const { return logic_.progress().parts().at(0)->share; }

 private:
  LinkLogic logic_;
  Instant now_{};
};

BOOST_AUTO_TEST_CASE(a_fifo_link_finishes_a_transfer_before_the_next) {
  Wire wire(Sharing::fifo);
  wire.share({pages(3), pages(1), pages(2)});
  BOOST_TEST(wire.move_all() == (Items{0, 0, 0, 1, 2, 2}));
  BOOST_TEST(wire.logic().progress().take_complete().has_value());
}

BOOST_AUTO_TEST_CASE(a_transfer_lasts_from_the_start_of_its_first_chunk_to_the_end_of_its_last) {
  Wire wire(Sharing::fair);
  wire.share({pages(1), pages(2), pages(1)});
  BOOST_TEST(wire.move_all() == (Items{0, 1, 2, 1}));
  const Share::Item& item = wire.current_share().items[1];
  BOOST_TEST((item.start == Instant{Duration{100}}));
  BOOST_TEST((item.end == Instant{Duration{400}}));
}

BOOST_AUTO_TEST_CASE(a_fair_link_takes_a_chunk_of_each_in_turn) {
  Wire wire(Sharing::fair);
  wire.share({pages(3), pages(1), pages(2)});
  BOOST_TEST(wire.move_all() == (Items{0, 1, 2, 0, 2, 0}));
}

// 0 has chunks of one page, 1 of two. Of 2, a chunk comes at a time: its turn ends with it.
BOOST_AUTO_TEST_CASE(a_fair_link_moves_as_many_small_chunks_in_a_turn_as_make_a_large_one) {
  constexpr std::uint64_t two_pages = 8192;
  Item large = pages(4);
  large.move->chunks = 2;
  Wire wire(Sharing::fair, {}, two_pages);
  wire.share({pages(5), large, paced_pages(3)});
  wire.notice({2});
  BOOST_TEST(wire.move_all() == (Items{0, 0, 1, 2, 0, 0, 1, 0}));
  wire.notice({2, 2});
  BOOST_TEST(wire.move_all() == (Items{2, 2}));

  LinkLogic logic(self, Sharing::fair, {.depth = 8}, two_pages);
  logic.on_share(make_share(self, {pages(3), large}, 0, true));
  Items order;
  while (const LinkLogic::Start* const chunk = logic.next()) {
    order.push_back(chunk->item);
    logic.on_started(chunk->slot, Instant{});
    logic.check_invariants();
  }
  BOOST_TEST(order == (Items{0, 0, 1, 0, 1}));

  LinkLogic ahead(self, Sharing::fair, {.depth = 8}, two_pages);
  ahead.on_share(make_share(self, {pages(3), large}, 0, true));
  order.clear();
  while (const LinkLogic::Start* const chunk = ahead.next()) {
    order.push_back(chunk->item);
    ahead.on_started(chunk->slot, Instant{});
    ahead.on_issued(chunk->slot);
    ahead.check_invariants();
  }
  BOOST_TEST(order == (Items{0, 0, 1, 0, 1}));
}

BOOST_AUTO_TEST_CASE(directions_do_not_wait_for_each_other) {
  Wire wire(Sharing::fifo);
  wire.share({pages(1), pages(1, backward)});
  const auto there = wire.start(forward);
  const auto back = wire.start(backward);
  BOOST_REQUIRE((there && back));
  BOOST_TEST(wire.logic().busy_slots() == 2U);
  BOOST_TEST(wire.logic().under_way(1).item == 1U);
  wire.finish(*back);
  BOOST_TEST(!wire.logic().is_idle());
  wire.finish(*there);
  BOOST_TEST(wire.logic().is_idle());
}

BOOST_AUTO_TEST_CASE(transfers_that_a_link_has_begun_together_move_one_after_the_other) {
  LinkLogic logic(self, Sharing::fifo, {.depth = 2});
  logic.on_share(make_share(self, {pages(1), pages(1), pages(1)}, 0, true));
  const auto at = [](int ns) { return Instant{Duration{ns}}; };
  for (const std::uint32_t slot : {0U, 1U}) {
    const LinkLogic::Start* const chunk = logic.next();
    BOOST_REQUIRE(chunk != nullptr);
    BOOST_TEST(chunk->slot == slot);
    logic.on_started(slot, at(10));
    logic.check_invariants();
  }
  BOOST_TEST(logic.next() == nullptr);
  logic.on_finished(0, at(30));
  logic.check_invariants();
  BOOST_REQUIRE(logic.next() != nullptr);
  logic.on_started(0, at(31));
  logic.on_finished(1, at(40));
  logic.on_finished(0, at(60));
  const Share share = logic.progress().take_complete().value();
  BOOST_TEST((share.items[0].start == at(10) && share.items[0].end == at(30)));
  BOOST_TEST((share.items[1].start == at(30) && share.items[1].end == at(40)));
  BOOST_TEST((share.items[2].start == at(40) && share.items[2].end == at(60)));
  BOOST_TEST((share.chunks[1].busy == Duration{10}));
}

BOOST_AUTO_TEST_CASE(a_fair_link_takes_turns_between_the_chunks_that_it_begins_together) {
  LinkLogic logic(self, Sharing::fair, {.depth = 3});
  logic.on_share(make_share(self, {pages(2), pages(1), pages(3)}, 0, true));
  Items order;
  while (const LinkLogic::Start* const chunk = logic.next()) {
    order.push_back(chunk->item);
    logic.on_started(chunk->slot, Instant{});
    logic.check_invariants();
  }
  BOOST_TEST(order == (Items{0, 1, 2}));
  for (const std::uint32_t slot : {0U, 1U, 2U}) logic.on_finished(slot, Instant{Duration{10}});
  logic.check_invariants();
  while (const LinkLogic::Start* const chunk = logic.next()) order.push_back(chunk->item);
  BOOST_TEST(order == (Items{0, 1, 2, 0, 2, 2}));
}

// another link ── 0
BOOST_AUTO_TEST_CASE(a_paced_transfer_moves_a_chunk_for_each_that_has_arrived) {
  Wire wire(Sharing::fifo);
  wire.share({paced_pages(3)});
  BOOST_TEST(!wire.move_one());
  wire.notice({0});
  BOOST_TEST(wire.move_all() == Items{0});
  wire.notice({0, 0});
  BOOST_TEST(wire.move_all() == (Items{0, 0}));
  BOOST_TEST(wire.logic().progress().take_complete().has_value());
}

BOOST_AUTO_TEST_CASE(chunks_that_arrive_before_the_share_are_not_lost) {
  Wire wire(Sharing::fair);
  wire.notice({0, 0, 0});
  wire.share({paced_pages(3)});
  BOOST_TEST(wire.move_all() == (Items{0, 0, 0}));
}

// another link ── 0    1
BOOST_AUTO_TEST_CASE(a_transfer_that_waits_for_chunks_lets_others_pass) {
  for (const Sharing sharing : {Sharing::fifo, Sharing::fair}) {
    Wire wire(sharing);
    wire.share({paced_pages(2), pages(1), pages(1)});
    wire.notice({0});
    BOOST_TEST(wire.move_all().size() == 3U);
    wire.notice({0});
    BOOST_TEST(wire.move_all() == Items{0});
  }
}

// 0 is older; while it waits for its second chunk, 1 begins. The second chunk then goes first.
BOOST_AUTO_TEST_CASE(on_a_fifo_link_the_oldest_that_can_move_goes_on) {
  Wire wire(Sharing::fifo);
  wire.share({paced_pages(2), paced_pages(3)});
  wire.notice({0, 1, 1, 1});
  BOOST_TEST((wire.move_one() == 0U));
  BOOST_TEST((wire.move_one() == 1U));
  wire.notice({0});
  BOOST_TEST(wire.move_all() == (Items{0, 1, 1}));
}

// On a fair link, 0 has its turn before 1 again, though its chunk comes later.
BOOST_AUTO_TEST_CASE(a_transfer_that_waits_for_chunks_keeps_its_turn) {
  Wire wire(Sharing::fair);
  wire.share({paced_pages(2), paced_pages(3)});
  wire.notice({0, 1});
  BOOST_TEST(wire.move_all() == (Items{0, 1}));
  wire.notice({1, 0, 1});
  BOOST_TEST(wire.move_all() == (Items{0, 1, 1}));
}

// 0 ═(3 chunks)═ item 5 of the next link      0 ── item 9 of a device
BOOST_AUTO_TEST_CASE(each_chunk_is_a_notice_to_the_next_link_and_the_end_one_to_the_others) {
  Wire wire(Sharing::fifo);
  Item item = pages(3);
  item.successors = {{next_link, 5}, {device, 9}};
  item.move->paces = true;
  wire.share({item});
  auto& notices = wire.logic().notices();
  for (int chunk = 0; chunk < 2; ++chunk) {
    wire.move_one();
    BOOST_TEST((told(notices) == Told{{0, {next_link, 5}}}));
    notices.clear();
  }
  wire.move_one();
  BOOST_TEST((told(notices) == Told{{0, {next_link, 5}}, {0, {device, 9}}}));
}

BOOST_AUTO_TEST_CASE(latency_is_paid_once_and_wire_time_divides_without_rest) {
  Wire wire(Sharing::fifo);
  Item item = pages(3);
  item.latency = Duration{1000};
  item.expected = Duration{100};
  wire.share({item});
  std::vector<Duration> times;
  while (const auto chunk = wire.start()) {
    times.push_back(chunk->expected);
    BOOST_TEST(chunk->first == (times.size() == 1));
    BOOST_TEST(chunk->last == (times.size() == 3));
    wire.finish(*chunk);
  }
  BOOST_TEST((times == std::vector{Duration{1033}, Duration{33}, Duration{34}}));
  BOOST_TEST((wire.current_share().busy(0) == Duration{1100}));
  BOOST_TEST(wire.current_share().chunks[0].shortest_ns == 33U);
}

BOOST_AUTO_TEST_CASE(long_transfers_of_many_chunks_do_not_overflow) {
  Wire wire(Sharing::fifo);
  Item item = pages(65535);
  item.expected = std::chrono::hours(24 * 365);
  wire.share({item});
  Duration sum{0};
  while (const auto chunk = wire.start()) {
    BOOST_REQUIRE((chunk->expected > Duration{0}));
    sum += chunk->expected;
    wire.finish(*chunk);
    if (chunk->last) break;
  }
  BOOST_TEST((sum == item.expected));
}

BOOST_AUTO_TEST_CASE(chunks_cover_every_byte_once_and_begin_on_pages) {
  for (const std::uint64_t bytes : {1ULL, 8ULL, 4095ULL, 4096ULL, 4097ULL, 12'288ULL, 100'000ULL}) {
    for (const std::uint16_t chunks : std::vector<std::uint16_t>{1, 2, 3, 7, 25, 100}) {
      BOOST_TEST_CONTEXT(bytes << " bytes in " << chunks << " chunks") {
        Wire wire(Sharing::fair);
        Item item = pages(chunks);
        item.move->bytes = bytes;
        wire.share({item});
        std::uint64_t end = 0;
        std::uint32_t count = 0;
        while (const auto chunk = wire.start()) {
          BOOST_TEST(chunk->offset == end);
          if (chunk->bytes > 0) BOOST_TEST(chunk->offset % 4096 == 0U);
          end += chunk->bytes;
          ++count;
          wire.finish(*chunk);
        }
        BOOST_TEST(end == bytes);
        BOOST_TEST(count == chunks);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_transfer_that_failed_releases_nothing) {
  Wire wire(Sharing::fifo);
  Item item = pages(2);
  item.successors = {{device, 0}};
  wire.share({item});
  wire.move_one();
  const auto second = wire.start();
  wire.logic().on_failed(second->slot);
  wire.logic().on_stop();
  wire.logic().check_invariants();
  BOOST_TEST(wire.logic().is_idle());
  BOOST_TEST(wire.logic().notices().empty());
  BOOST_TEST(!wire.current_share().items[0].finished());
}

BOOST_AUTO_TEST_CASE(after_a_stop_no_further_chunk_starts) {
  Wire wire(Sharing::fifo);
  wire.share({pages(2), pages(1)});
  const auto chunk = wire.start();
  wire.logic().on_stop();
  wire.finish(*chunk);
  BOOST_TEST(!wire.move_one());
  BOOST_TEST(wire.logic().is_idle());
  BOOST_TEST(wire.logic().progress().done() == 0U);
}

// window 0: 0 (3 chunks)    window 1: 0 (2 chunks)
BOOST_AUTO_TEST_CASE(transfers_of_several_windows_share_a_link_in_the_order_they_became_ready) {
  Wire fifo(Sharing::fifo);
  fifo.share({pages(3)});
  fifo.share({pages(2)}, true, 1);
  BOOST_TEST((fifo.move_windows() == Items{0, 0, 0, 1, 1}));
  Wire fair(Sharing::fair);
  fair.share({pages(3)});
  fair.share({pages(2)}, true, 1);
  BOOST_TEST((fair.move_windows() == Items{0, 1, 0, 1, 0}));
}

// The second chunk of the older window arrives after that of the newer one.
BOOST_AUTO_TEST_CASE(chunks_count_for_the_window_they_are_of) {
  Wire wire(Sharing::fifo);
  Item item = paced_pages(2);
  item.move->paces = true;
  item.successors = {{next_link, 5}};
  wire.share({item});
  wire.share({item}, true, 1);
  wire.notice({0});
  wire.notice({0, 0}, 1);
  BOOST_TEST((wire.move_windows() == Items{0, 1, 1}));
  BOOST_TEST((told(wire.logic().notices()) ==
              Told{{0, {next_link, 5}}, {1, {next_link, 5}}, {1, {next_link, 5}}}));
  const std::optional<Share> complete = wire.logic().progress().take_complete();
  BOOST_TEST_REQUIRE(complete.has_value());
  BOOST_TEST(complete->window == 1U);
  wire.notice({0});
  BOOST_TEST((wire.move_windows() == Items{0}));
  BOOST_TEST(wire.logic().progress().take_complete().has_value());
}

// window 0: 0 (2 chunks) ─┬─ window 1: 0
//                         └─ window 1: item 9 of a device
BOOST_AUTO_TEST_CASE(dependents_in_a_later_window_wait_for_the_last_chunk_of_a_transfer) {
  Wire wire(Sharing::fair);
  wire.share({pages(2)});
  Item waiting = pages(1);
  waiting.waits_for = 1;
  wire.share(
      {waiting}, true, 1,
      {{.window = 0, .item = 0, .to = {self, 0}}, {.window = 0, .item = 0, .to = {device, 9}}});
  wire.move_one();
  BOOST_TEST(wire.logic().notices().empty());
  wire.move_one();
  BOOST_TEST((told(wire.logic().notices()) == Told{{1, {device, 9}}}));
  BOOST_TEST((wire.move_windows() == Items{1}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
