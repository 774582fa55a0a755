#include "actors/virtual_time.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

// A message that its receiver sends to itself `bounces` more times.
struct Ball {
  int from = 0;
  int bounces = 0;
};
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Ball)

namespace troupe {
BOOST_AUTO_TEST_SUITE(virtual_time)
namespace {

using namespace std::chrono_literals;

// "3@20": a ball from 3 arrived 20 ns after the beginning.
using Log = std::vector<std::string>;

std::string at(const Clock& clock) {
  const Instant beginning{1ns};  // CAF's test clock starts there
  return "@" + std::to_string((clock.instant() - beginning).count());
}

// Logs the balls that arrive, and sends each to itself as often as it says.
class Player : public caf::event_based_actor {
 public:
  Player(caf::actor_config& config, Log* log) : caf::event_based_actor(config), log_(log) {}
  caf::behavior make_behavior() override {
    return {[this](const Ball& ball) {
      log_->push_back(std::to_string(ball.from) + at(VirtualTime::of(system()).clock()));
      if (ball.bounces > 0) send(this, Ball{ball.from, ball.bounces - 1});
    }};
  }

 private:
  Log* log_;
};

// Logs timers that expire, and the announcements before.
class Dreamer : public TimerListener {
 public:
  Dreamer(VirtualClock& clock, Log& log) : clock_(clock), log_(log) {}
  void on_timer(std::uint32_t slot) override {
    log_.push_back("alarm " + std::to_string(slot) + at(clock_));
    ++happened;
  }
  void before_finish(std::uint32_t slot, std::uint32_t step) override {
    const auto known = steps.find(slot);
    if (known != steps.end()) BOOST_TEST(step > known->second.back().step);
    steps[slot].push_back({step, happened});
  }
  void before_notice(std::uint32_t item, std::uint32_t step) override { before_finish(item, step); }
  caf::strong_actor_ptr handle() override { return nullptr; }

  // By slot or item: the steps announced, and how many events had been handled before each.
  struct Step {
    std::uint32_t step;
    std::size_t after;
  };
  std::map<std::uint32_t, std::vector<Step>> steps;
  std::size_t happened = 0;

 private:
  VirtualClock& clock_;
  Log& log_;
};

class World {
 public:
  explicit World(std::uint64_t seed = 0) {
    config_.load<VirtualTime>();
    system_ = std::make_unique<caf::actor_system>(config_);
    time().set_seed(seed);
  }
  ~World() {
    for (const caf::actor& player : players_) {
      caf::anon_send_exit(player, caf::exit_reason::user_shutdown);
    }
    run();
  }
  caf::actor player() {
    players_.push_back(system_->spawn<Player>(&log));
    return players_.back();
  }
  VirtualTime& time() { return VirtualTime::of(*system_); }
  void run() {
    while (time().run(1000) > 0) {
    }
  }

  Log log;

 private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::vector<caf::actor> players_;
};

void throw_after(World& world, const caf::actor& player, Duration delay, Ball ball) {
  VirtualClock& clock = world.time().clock();
  clock.schedule_message(clock.now() + delay, caf::actor_cast<caf::strong_actor_ptr>(player),
                         caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, ball));
}

// Four players, each with three messages in its mailbox.
Log concurrent(std::uint64_t seed) {
  World world(seed);
  for (int p = 0; p < 4; ++p) {
    const caf::actor player = world.player();
    for (int i = 0; i < 3; ++i) caf::anon_send(player, Ball{10 * p + i});
  }
  world.run();
  return world.log;
}

BOOST_AUTO_TEST_CASE(delayed_messages_arrive_in_order_of_their_time) {
  World world;
  const caf::actor player = world.player();
  throw_after(world, player, 30ns, {3});
  throw_after(world, player, 10ns, {1, 1});
  world.run();
  BOOST_TEST(world.log == (Log{"1@10", "1@10", "3@30"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_message_due_in_the_past_is_delivered_now_in_its_turn) {
  World world;
  const caf::actor player = world.player();
  throw_after(world, player, 30ns, {3});
  world.run();
  Dreamer dreamer(world.time().clock(), world.log);
  world.time().clock().start_timer(0ns, dreamer, 0);
  world.time().clock().start_timer(-20ns, dreamer, 1);
  world.time().clock().start_timer(0ns, dreamer, 2);
  world.run();
  BOOST_TEST(world.log == (Log{"3@30", "alarm 0@30", "alarm 1@30", "alarm 2@30"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(time_stands_still_while_messages_are_left) {
  World world;
  const caf::actor player = world.player();
  Dreamer dreamer(world.time().clock(), world.log);
  world.time().clock().start_timer(5ns, dreamer, 0);
  caf::anon_send(player, Ball{1, 3});
  world.run();
  BOOST_TEST(world.log == (Log{"1@0", "1@0", "1@0", "1@0", "alarm 0@5"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(events_due_together_happen_before_anything_that_follows_from_them) {
  World world;
  Dreamer dreamer(world.time().clock(), world.log);
  VirtualClock& clock = world.time().clock();
  for (const std::uint32_t slot : {0U, 1U, 2U}) clock.start_timer(7ns, dreamer, slot);
  clock.start_timer(8ns, dreamer, 3);
  clock.advance();
  BOOST_TEST(world.log == (Log{"alarm 0@7", "alarm 1@7", "alarm 2@7"}),
             boost::test_tools::per_element());
  world.run();
  BOOST_TEST(world.log.size() == 4U);
  BOOST_TEST(clock.is_empty());
}

// The steps were announced one after the other, all less than 20 events before event `turn`.
void expect_announced(const Dreamer& dreamer, std::uint32_t slot, std::size_t turn) {
  BOOST_TEST_REQUIRE(dreamer.steps.contains(slot));
  const std::vector<Dreamer::Step>& steps = dreamer.steps.at(slot);
  BOOST_TEST_REQUIRE(steps.size() == LookaheadTarget::steps);
  for (std::size_t s = 1; s < steps.size(); ++s) BOOST_TEST(steps[s - 1].after < steps[s].after);
  BOOST_TEST(steps.back().after < turn);
  BOOST_TEST(steps.front().after + 20 > turn);
}

// Messages for 40 different times, more than are kept apart, and several for the last of them: two
// from the beginning on, one scheduled later.
BOOST_AUTO_TEST_CASE(what_is_due_together_comes_in_the_order_it_was_scheduled) {
  World world;
  const caf::actor player = world.player();
  for (int i = 1; i <= 40; ++i) throw_after(world, player, 10ns * i, {i});
  throw_after(world, player, 400ns, {41});
  while (world.log.empty()) world.time().run(1);
  throw_after(world, player, 390ns, {42});
  world.run();
  BOOST_TEST_REQUIRE(world.log.size() == 42U);
  BOOST_TEST((Log(world.log.end() - 3, world.log.end()) == Log{"40@400", "41@400", "42@400"}));
}

BOOST_AUTO_TEST_CASE(a_timer_among_many_is_announced_step_by_step_before_it_expires) {
  World world;
  Dreamer dreamer(world.time().clock(), world.log);
  for (std::uint32_t slot = 0; slot < 100; ++slot) {
    world.time().clock().start_timer(7ns, dreamer, slot);
  }
  for (std::uint32_t slot = 0; slot < 100; ++slot) {
    world.time().clock().start_timer(9ns, dreamer, 1000 + slot);
  }
  world.time().clock().advance();
  BOOST_TEST(world.log.size() == 100U);
  BOOST_TEST(dreamer.steps.rbegin()->first < 100U);
  world.run();
  BOOST_TEST(world.log.size() == 200U);
  for (const std::uint32_t slot : {20U, 50U, 80U}) {
    expect_announced(dreamer, slot, slot);
    expect_announced(dreamer, 1000 + slot, 100 + slot);
  }
}

BOOST_AUTO_TEST_CASE(a_notice_among_many_is_announced_step_by_step_before_it_is_handled) {
  World world;
  VirtualClock& clock = world.time().clock();
  Dreamer dreamer(clock, world.log);
  Dreamer gone(clock, world.log);
  const auto pass = [&](int notices) {
    for (; notices > 0; --notices) {
      clock.lookahead()->on_turn();
      ++dreamer.happened;
    }
  };
  for (std::uint32_t i = 0; i < 100; ++i)
    clock.lookahead()->add(ResourceId{i}, i == 70 ? gone : dreamer);
  // The second notice for a resource is handled in the same turn as the first.
  for (std::uint32_t i = 0; i < 200; ++i) clock.lookahead()->on_sent(ResourceId{i % 100}, i);
  clock.lookahead()->on_sent(ResourceId{100}, 300);  // no target was added
  pass(50);
  clock.lookahead()->remove(ResourceId{70}, gone);
  clock.lookahead()->remove(ResourceId{71}, gone);  // another was added since
  pass(50);
  for (const std::uint32_t item : {20U, 50U, 71U, 80U}) expect_announced(dreamer, item, item);
  BOOST_TEST(dreamer.steps.rbegin()->first < 100U);
  BOOST_TEST(gone.steps.empty());
}

BOOST_AUTO_TEST_CASE(actors_that_have_handled_their_notices_may_expect_more) {
  World world;
  VirtualClock& clock = world.time().clock();
  Dreamer dreamer(clock, world.log);
  for (std::uint32_t i = 0; i < 40; ++i) clock.lookahead()->add(ResourceId{i}, dreamer);
  for (std::uint32_t i = 0; i < 40; ++i) clock.lookahead()->on_sent(ResourceId{i}, i);
  for (int i = 0; i < 5; ++i) clock.lookahead()->on_turn();
  clock.lookahead()->on_all_handled();
  dreamer.steps.clear();
  for (std::uint32_t i = 0; i < 40; ++i) clock.lookahead()->on_sent(ResourceId{i}, 1000 + i);
  for (; dreamer.happened < 40; ++dreamer.happened) clock.lookahead()->on_turn();
  expect_announced(dreamer, 1030, 30);
  BOOST_TEST(dreamer.steps.begin()->first >= 1000U);
}

BOOST_AUTO_TEST_CASE(a_seed_orders_only_events_that_are_due_at_the_same_time) {
  std::set<Log> orders;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    World world(seed);
    Dreamer dreamer(world.time().clock(), world.log);
    for (const std::uint32_t slot : {0U, 1U, 2U}) {
      world.time().clock().start_timer(7ns, dreamer, slot);
    }
    world.time().clock().start_timer(6ns, dreamer, 9);
    world.run();
    BOOST_TEST(world.log.front() == "alarm 9@6");
    orders.insert(world.log);
  }
  BOOST_TEST(orders.size() == 6U);
}

BOOST_AUTO_TEST_CASE(a_run_takes_as_many_steps_as_it_is_given) {
  World world;
  const caf::actor player = world.player();
  caf::anon_send(player, Ball{1});
  BOOST_TEST(world.time().run(0) == 0U);
  BOOST_TEST(world.log.empty());
  world.run();
  BOOST_TEST(world.log.size() == 1U);
  BOOST_TEST(world.time().run(5) == 0U);
}

BOOST_AUTO_TEST_CASE(without_a_seed_actors_act_in_the_order_they_became_runnable) {
  const Log log = concurrent(0);
  BOOST_REQUIRE(log.size() == 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    BOOST_TEST(log[i] == std::to_string(10 * (i / 3) + i % 3) + "@0");
  }
}

BOOST_AUTO_TEST_CASE(seeds_permute_concurrent_messages_but_not_those_of_one_actor) {
  std::set<Log> orders;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Log log = concurrent(seed);
    BOOST_REQUIRE(log.size() == 12U);
    for (int p = 0; p < 4; ++p) {
      std::vector<std::ptrdiff_t> places;
      for (int i = 0; i < 3; ++i) {
        const std::string wanted = std::to_string(10 * p + i) + "@0";
        places.push_back(std::find(log.begin(), log.end(), wanted) - log.begin());
      }
      BOOST_TEST(std::is_sorted(places.begin(), places.end()));
    }
    orders.insert(log);
  }
  BOOST_TEST(orders.size() >= 35U);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_order) {
  for (std::uint64_t seed = 0; seed <= 10; ++seed) {
    BOOST_TEST(concurrent(seed) == concurrent(seed), boost::test_tools::per_element());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
