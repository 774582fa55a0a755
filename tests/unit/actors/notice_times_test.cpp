// How long a device holds notices back to send them together, by a clock of the test's own.
#include "actors/resource_actor.hpp"
#include "actors/run_context.hpp"
#include "actors/virtual_time.hpp"
#include "core/run/device_logic.hpp"
#include "tests/support/share_maker.hpp"

#include <memory>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(notice_times)
namespace {

using testing::Item;
using testing::make_share;
using namespace std::chrono_literals;

constexpr ResourceId self{0};
constexpr ResourceId other{1};

using Notices = std::vector<std::vector<std::uint32_t>>;  // a message each, of items

// Time that passes only while ops run.
class OpClock final : public Clock {
 public:
  Instant instant() const override { return now; }
  Instant instant_after(Instant) const override { return now; }
  void start_timer(Duration, TimerListener&, std::uint32_t) override { TROUPE_ASSERT(false); }

  Instant now{};
};

// Ops that are done as soon as they are started, and take as long as planned.
struct TimedWork {
  OpClock* clock;
  void enter_thread() {}
  const Issue* issued(const DeviceLogic::Start&) { return nullptr; }
  void submit() {}
  Started start(const DeviceLogic::Start& start) {
    const Share& share = start.part->share;
    clock->now += share.kernels[share.items[start.item].work].expected;
    return {};
  }
  void finished(const DeviceLogic::Start&, Duration) {}
  bool may_block(const DeviceLogic::Start&) const { return false; }
};

// Writes down the notices that it gets.
class Receiver final : public caf::event_based_actor {
 public:
  Receiver(caf::actor_config& config, Notices* received)
      : caf::event_based_actor(config), received_(received) {}
  caf::behavior make_behavior() override {
    return {[this](const Notice& n) {
              received_->push_back({n.items().begin(), n.items().end()});
            },
            [](const Ready&) {}, [](const Progress&) {}, [](const ShareComplete&) {}};
  }

 private:
  Notices* received_;
};

// The notices that a device sends which carries out these items, one after the other.
Notices sent_by(const std::vector<Item>& items) {
  caf::actor_system_config config;
  config.load<VirtualTime>();
  caf::actor_system system(config);
  const auto settle = [&] { VirtualTime::of(system).run(1000); };
  OpClock clock;
  Notices received;
  const caf::actor receiver = system.spawn<Receiver>(&received);
  caf::actor_config of_device(nullptr);
  caf::actor device =
      system.spawn_class<ResourceActor<DeviceLogic, TimedWork>, caf::no_spawn_options>(
          of_device, self, receiver, std::ref(static_cast<Clock&>(clock)),
          std::cref(never_interrupted), DeviceLogic(self, 1), false,
          [&](Completions&) { return TimedWork{&clock}; });
  caf::anon_send(device, Introduce{std::make_shared<const std::vector<caf::actor>>(
                             std::vector<caf::actor>{device, receiver})});
  caf::anon_send(device, AssignShare{make_share(self, items)});
  settle();
  caf::anon_send_exit(device, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(receiver, caf::exit_reason::user_shutdown);
  device = nullptr;
  settle();
  return received;
}

// An item for which one of the other device waits.
Item telling(std::uint32_t item, Duration takes) {
  return {.successors = {{other, item}}, .expected = takes};
}
Item silent(Duration takes) {
  return {.expected = takes};
}

BOOST_AUTO_TEST_CASE(notices_that_come_in_short_order_go_together) {
  BOOST_TEST((sent_by({telling(4, 100ns), silent(700ns), telling(5, 100ns)}) == Notices{{4, 5}}));
}

BOOST_AUTO_TEST_CASE(a_notice_goes_when_none_has_followed_for_a_while) {
  BOOST_TEST((sent_by({telling(4, 100ns), silent(900ns), telling(5, 100ns)}) == Notices{{4}, {5}}));
}

// The op before the next notice takes long by itself: the notice is as old as that only afterwards.
BOOST_AUTO_TEST_CASE(how_long_a_notice_has_waited_is_looked_at_before_each_op) {
  BOOST_TEST((sent_by({telling(4, 100ns), telling(5, 5us), silent(1ns)}) == Notices{{4, 5}}));
}

BOOST_AUTO_TEST_CASE(a_notice_goes_after_its_longest_delay_though_others_keep_coming) {
  std::vector<Item> items;
  for (std::uint32_t i = 0; i < 8; ++i) items.push_back(telling(i, 600ns));
  // The first is there after 600 ns, and 2,400 ns old after four others.
  BOOST_TEST((sent_by(items) == Notices{{0, 1, 2, 3, 4}, {5, 6, 7}}));
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
