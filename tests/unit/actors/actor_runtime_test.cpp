// The actors of a run that is given up before it begins.
#include "actors/actor_runtime.hpp"

#include "core/ops/registry.hpp"
#include "tests/support/share_maker.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <memory>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(actor_runtime)
namespace {

int ops_started = 0;

class CountingDevice final : public DeviceBackend {
 public:
  Started start(std::uint32_t, const KernelCall&) override {
    ++ops_started;
    return {};
  }
};

constexpr DeviceBackendEntry counting{
    .name = "counting",
    .fits = nullptr,
    .has_kernel = nullptr,
    .make = [](const BackendContext&, DeviceId) -> std::unique_ptr<DeviceBackend> {
      return std::make_unique<CountingDevice>();
    },
    .mode = Mode::simulate};

// Spawns the actor of a device with one op and lets it get ready. Returns how many ops it started
// until all actors were gone.
int started(bool begins) {
  const Machine machine = testing::two_devices();
  MemoryStore store(machine, MemoryStore::Backing::accounted);
  const std::vector<ReplicaSpec> replicas{{.memory = MemoryId{0}}};
  const std::vector<TensorType> types{testing::of_bytes(8)};
  store.install(replicas, types);
  RunSetting setting = make_run_setting(Mode::simulate, machine, false);
  setting.device_backends[0] = &counting;
  ops_started = 0;
  {
    ActorRuntime runtime(machine, builtin_ops(), store, setting, {});
    Window window;
    window.items = 1;
    window.shares.emplace_back(ResourceId{0}, testing::make_share(ResourceId{0}, {{}}));
    runtime.send(std::move(window));
    runtime.proceed();
    if (begins) {
      runtime.begin();
      runtime.proceed();
    }
  }
  return ops_started;
}

BOOST_AUTO_TEST_CASE(a_run_that_is_given_up_before_it_begins_starts_no_op) {
  BOOST_TEST(started(true) == 1);
  BOOST_TEST(started(false) == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
