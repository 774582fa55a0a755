// When a device sends its notices, if its work finishes as soon as it is started; and how it ends
// if it crashes on the thread of its work.
#include "actors/resource_actor.hpp"

#include "actors/real_clock.hpp"
#include "actors/run_context.hpp"
#include "actors/virtual_time.hpp"
#include "core/backend/slot_worker.hpp"
#include "core/backend/worker_pool.hpp"
#include "core/run/device_logic.hpp"
#include "tests/support/share_maker.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(resource_actor)
namespace {

using testing::Item;
using testing::make_share;

constexpr ResourceId self{0};
constexpr ResourceId other{1};

using Notices = std::vector<std::vector<std::uint32_t>>;  // the items of each message

// An actor that records the notices it receives.
class Listener final : public caf::event_based_actor {
 public:
  Listener(caf::actor_config& config, Notices* heard)
      : caf::event_based_actor(config), heard_(heard) {}
  caf::behavior make_behavior() override {
    return {[this](const Notice& n) {
              heard_->push_back({n.items().begin(), n.items().end()});
            },
            [](const Ready&) {}, [](const Status&) {}, [](const Progress&) {},
            [](const ShareComplete&) {}};
  }

 private:
  Notices* heard_;
};

// How the device's items behave.
struct Plot {
  caf::actor device;
  std::set<std::uint32_t> visited;  // items during which a message arrives
  std::set<std::uint32_t> long_items;
};

class Work {
 public:
  explicit Work(const Plot& plot) : plot_(&plot) {}
  void enter_thread() {}
  const Issue* issued(const DeviceLogic::Start&) { return nullptr; }
  void submit() {}
  Started start(const DeviceLogic::Start& start) {
    if (plot_->visited.contains(start.item)) caf::anon_send(plot_->device, StatusRequest{1});
    return {};
  }
  void finished(const DeviceLogic::Start&, Duration) {}
  bool may_block(const DeviceLogic::Start& start) const {
    return plot_->long_items.contains(start.item);
  }

 private:
  const Plot* plot_;
};

using Device = ResourceActor<DeviceLogic, Work>;

// Returns the notices that a device sends when it computes these items.
Notices told(const std::vector<Item>& items, std::set<std::uint32_t> visited,
             std::set<std::uint32_t> long_items = {}) {
  caf::actor_system_config config;
  config.load<VirtualTime>();
  caf::actor_system system(config);
  VirtualTime& time = VirtualTime::of(system);
  const auto settle = [&] { time.run(1000); };
  Notices heard;
  const caf::actor listener = system.spawn<Listener>(&heard);
  Plot plot{.device = {}, .visited = std::move(visited), .long_items = std::move(long_items)};
  caf::actor_config of_device(nullptr);
  plot.device = system.spawn_class<Device, caf::no_spawn_options>(
      of_device, self, listener, std::ref(static_cast<Clock&>(time.clock())),
      std::cref(never_interrupted), DeviceLogic(self, 1), false,
      [&](Completions&) { return Work(plot); });
  const auto resources = std::make_shared<const std::vector<caf::actor>>(
      std::vector<caf::actor>{plot.device, listener});
  caf::anon_send(plot.device, Introduce{resources});
  caf::anon_send(plot.device, AssignShare{make_share(self, items)});
  settle();
  caf::anon_send_exit(plot.device, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(listener, caf::exit_reason::user_shutdown);
  plot.device = nullptr;
  settle();
  return heard;
}

// An item with a successor on the other device.
Item leaving(std::uint32_t item) {
  return {.successors = {{other, item}}};
}

BOOST_AUTO_TEST_CASE(notices_of_a_round_go_together) {
  BOOST_TEST((told({leaving(4), {}, leaving(5)}, {}) == Notices{{4, 5}}));
}

BOOST_AUTO_TEST_CASE(a_message_sends_no_notices_while_more_items_can_start) {
  BOOST_TEST((told({leaving(4), {}, leaving(5)}, {0, 1}) == Notices{{4, 5}}));
}

BOOST_AUTO_TEST_CASE(a_message_sends_the_notices_if_no_item_can_start) {
  // The notice for the second item never comes.
  BOOST_TEST((told({leaving(4), {.waits_for = 1}}, {0}) == Notices{{4}}));
}

BOOST_AUTO_TEST_CASE(notices_go_before_work_that_may_take_long) {
  BOOST_TEST((told({leaving(4), {}, leaving(5)}, {}, {1}) == Notices{{4}, {5}}));
}

BOOST_AUTO_TEST_CASE(many_notices_for_one_actor_are_several_messages_in_order) {
  std::vector<Item> items;
  std::vector<std::uint32_t> first;
  for (std::uint32_t i = 0; i < Notice::items_max + 2; ++i) {
    items.push_back(leaving(i));
    if (i < Notice::items_max) first.push_back(i);
  }
  const auto items_max = static_cast<std::uint32_t>(Notice::items_max);
  BOOST_TEST((told(items, {}) == Notices{first, {items_max, items_max + 1}}));
}

// Its end is the end of the device.
class FatalWork {
 public:
  // The job takes so long.
  FatalWork(Completions& completions, std::chrono::milliseconds time, std::atomic<bool>* is_lent)
      : time_(time), is_lent_(is_lent), threads_(std::make_unique<Threads>(completions)) {}
  void enter_thread() {}
  const Issue* issued(const DeviceLogic::Start&) { return nullptr; }
  void submit() {}
  Started start(const DeviceLogic::Start&) {
    threads_->worker.submit([this, threads = threads_.get()] {
      threads->id = std::this_thread::get_id();
      std::this_thread::sleep_for(time_);
    });
    return {.state = Started::State::pending};
  }
  void finished(const DeviceLogic::Start&, Duration) {
    *is_lent_ = std::this_thread::get_id() == threads_->id;
    throw 7;
  }
  bool may_block(const DeviceLogic::Start&) const { return false; }

 private:
  struct Threads {
    explicit Threads(Completions& completions) : worker(pool, completions, 0) {}
    WorkerPool pool{1};
    SlotWorker worker;
    std::thread::id id;
  };
  std::chrono::milliseconds time_;
  std::atomic<bool>* is_lent_;
  std::unique_ptr<Threads> threads_;
};

// Returns whether it crashed on the thread of its work: it must be asleep when that ends.
bool crashes_on_lent_thread(std::chrono::milliseconds time) {
  std::atomic<bool> is_lent = false;
  caf::actor_system_config config;
  config.load<ActorThreads>();
  caf::actor_system system(config);
  RealClock clock(system);
  Notices heard;
  const caf::actor listener = system.spawn<Listener>(&heard);
  caf::actor_config of_device(ActorThreads::of(system).start_own_thread(Waiting::asleep));
  const caf::actor device =
      system.spawn_class<ResourceActor<DeviceLogic, FatalWork>, caf::no_spawn_options>(
          of_device, self, listener, std::ref(static_cast<Clock&>(clock)),
          std::cref(never_interrupted), DeviceLogic(self, 1), false,
          [&](Completions& completions) { return FatalWork(completions, time, &is_lent); });
  caf::scoped_actor observer(system);
  observer->monitor(device);
  caf::anon_send(device, AssignShare{make_share(self, {Item{}})});
  observer->receive([](const caf::down_msg& down) { BOOST_TEST(static_cast<bool>(down.reason)); });
  caf::anon_send_exit(listener, caf::exit_reason::user_shutdown);
  return is_lent;
}

// This test hangs if it fails.
BOOST_AUTO_TEST_CASE(a_device_that_crashes_on_the_thread_of_its_work_does_not_wait_for_it_there) {
  std::chrono::milliseconds time(1);
  while (!crashes_on_lent_thread(time)) time *= 2;
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
