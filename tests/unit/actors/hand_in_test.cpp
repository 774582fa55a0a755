// When an actor that is asked for what is left hands it in: as soon as nothing is under way.
#include "actors/resource_actor.hpp"
#include "actors/run_context.hpp"
#include "actors/virtual_time.hpp"
#include "core/run/device_logic.hpp"
#include "tests/support/share_maker.hpp"

#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(hand_in)
namespace {

using testing::make_share;

using Log = std::vector<std::string>;

// Writes down what a device sends it.
class Coordinator final : public caf::event_based_actor {
 public:
  Coordinator(caf::actor_config& config, Log* log) : caf::event_based_actor(config), log_(log) {}
  caf::behavior make_behavior() override {
    return {[](const Ready&) {}, [](const Progress&) {}, [](const ShareComplete&) {},
            [this](const Failure& f) { log_->push_back("failure: " + f.cause); },
            [this](const Collected& c) {
              log_->push_back("collected " + std::to_string(c.done) + " items done");
            }};
  }

 private:
  Log* log_;
};

// Work that goes on until the test ends it.
struct PendingWork {
  void enter_thread() {}
  const Issue* issued(const DeviceLogic::Start&) { return nullptr; }
  void submit() {}
  Started start(const DeviceLogic::Start&) { return {.state = Started::State::pending}; }
  void finished(const DeviceLogic::Start&, Duration) {}
  bool may_block(const DeviceLogic::Start&) const { return false; }
};

// A device of two slots, both busy, that has been asked for what is left.
class CollectedDevice {
 public:
  CollectedDevice() {
    constexpr ResourceId self{0};
    config_.load<VirtualTime>();
    system_ = std::make_unique<caf::actor_system>(config_);
    coordinator_ = system_->spawn<Coordinator>(&log);
    caf::actor_config of_device(nullptr);
    Clock& clock = VirtualTime::of(*system_).clock();
    device_ = system_->spawn_class<ResourceActor<DeviceLogic, PendingWork>, caf::no_spawn_options>(
        of_device, self, coordinator_, std::ref(clock), std::cref(never_interrupted),
        DeviceLogic(self, 2), false, [this](Completions& completions) {
          completions_ = &completions;
          return PendingWork{};
        });
    caf::anon_send(device_, Introduce{std::make_shared<const std::vector<caf::actor>>(
                                std::vector<caf::actor>{device_})});
    caf::anon_send(device_, AssignShare{make_share(self, {{}, {}, {}})});
    caf::anon_send(device_, Collect{});
    settle();
    BOOST_TEST(log.empty());
  }
  ~CollectedDevice() {
    caf::anon_send_exit(device_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(coordinator_, caf::exit_reason::user_shutdown);
    device_ = nullptr;
    coordinator_ = nullptr;
    settle();
  }
  void complete(std::uint32_t slot) {
    completions_->completed(slot);
    settle();
  }
  void fail(std::uint32_t slot) {
    completions_->failed(slot, "slot " + std::to_string(slot));
    settle();
  }
  void stop() { caf::anon_send(device_, Stop{}); }

  Log log;

 private:
  void settle() { VirtualTime::of(*system_).run(1000); }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::actor coordinator_;
  caf::actor device_;
  Completions* completions_ = nullptr;
};

BOOST_AUTO_TEST_CASE(a_device_hands_in_when_its_last_busy_slot_has_failed) {
  CollectedDevice device;
  device.fail(0);
  BOOST_TEST(device.log == Log{"failure: slot 0"}, boost::test_tools::per_element());
  device.fail(1);
  BOOST_TEST(device.log == (Log{"failure: slot 0", "failure: slot 1", "collected 0 items done"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_device_hands_in_when_its_last_busy_slot_has_finished) {
  CollectedDevice device;
  device.stop();
  device.complete(1);
  BOOST_TEST(device.log.empty());
  device.complete(0);
  BOOST_TEST(device.log == Log{"collected 2 items done"}, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
