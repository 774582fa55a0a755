#include "actors/warm_up.hpp"

#include "core/backend/backend.hpp"
#include "core/memory/memory_store.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(warm_up)
namespace {

class NoClock final : public Clock {
 public:
  Instant instant() const override { return {}; }
  Instant instant_after(Instant) const override { return {}; }
  void start_timer(Duration, TimerListener&, std::uint32_t) override {}
};

class NoValues final : public ValueSource {
 public:
  void read(std::uint64_t, std::span<std::byte>) const override {}
};

struct Shown {
  std::string kind;
  std::vector<TensorType> inputs;
  std::vector<TensorType> outputs;
};
std::vector<Shown> shown;

// What a device's share may look like: replicas 0 and 1 are matrices, which 2 and 3 are made of, by
// the same kernel; 4 is made of 3.
struct Example {
  Machine machine{.name = "small",
                  .devices = {{.name = "cpu", .memory = MemoryId{0}, .flops = 1e9}},
                  .memories = {{.name = "host", .size_bytes = 1 << 30}},
                  .links = {}};
  OpRegistry ops = builtin_ops();
  RunSetting setting;
  MemoryStore store{machine, MemoryStore::Backing::accounted};
  NoClock clock;
  const RunContext context{machine, ops, store, clock, setting};
  Attrs plain = {{"transpose_a", false}, {"transpose_b", false}};
  Attrs no_attrs;
  Share share;

  Example() {
    static const DeviceBackendEntry backend{
        .name = "shown",
        .fits = [](const Machine&, DeviceId) { return true; },
        .has_kernel = nullptr,
        .make = nullptr,
        .warm_up =
            [](const Machine&, DeviceId, std::span<const KernelSample> samples) {
              for (const KernelSample& s : samples) {
                shown.push_back({std::string(s.kind), s.inputs, s.outputs});
              }
            }};
    setting.device_backends = {&backend};
    shown.clear();
    const std::vector<TensorType> types{
        {DType::f32, {4, 2}}, {DType::f32, {2, 3}}, {DType::f32, {4, 3}}};
    const auto replica = [](std::uint32_t type) {
      return ReplicaSpec{.memory = MemoryId{0}, .type = type, .readers = 1};
    };
    store.install(std::array{replica(0), replica(1), replica(2), replica(2), replica(2)}, types);
    share.kernels = {{.kind = ops.find("matmul"), .attrs = &plain},
                     {.kind = ops.find("relu"), .attrs = &no_attrs}};
    for (const std::uint32_t product : {2U, 3U}) add(product, 0, {0, 1});
    add(4, 1, {3});
  }

  void add(std::uint32_t unit, std::uint32_t kernel, const std::vector<std::uint32_t>& inputs) {
    for (const std::uint32_t input : inputs) share.inputs.push_back(ReplicaId{input});
    Share::Item& item = share.add_item();
    item.unit = UnitId{unit};
    item.work = kernel;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_backend_is_shown_an_op_of_each_kernel_with_its_types, Example) {
  warm_up_kernels(context, ResourceId{0}, share);
  BOOST_TEST_REQUIRE(shown.size() == 2U);
  BOOST_TEST(shown[0].kind == "matmul");
  BOOST_TEST(
      (shown[0].inputs == std::vector<TensorType>{{DType::f32, {4, 2}}, {DType::f32, {2, 3}}}));
  BOOST_TEST((shown[0].outputs == std::vector<TensorType>{{DType::f32, {4, 3}}}));
  BOOST_TEST(shown[1].kind == "relu");
}

BOOST_FIXTURE_TEST_CASE(the_samples_of_a_share_show_the_same, Example) {
  const Share samples = kernel_samples(share);
  BOOST_TEST(samples.size() == 2U);
  warm_up_kernels(context, ResourceId{0}, samples);
  BOOST_TEST_REQUIRE(shown.size() == 2U);
  BOOST_TEST(shown[1].kind == "relu");
  BOOST_TEST((shown[1].inputs == std::vector<TensorType>{{DType::f32, {4, 3}}}));
}

BOOST_FIXTURE_TEST_CASE(an_op_that_takes_long_is_not_shown, Example) {
  share.kernels[0].expected = std::chrono::seconds(1);
  warm_up_kernels(context, ResourceId{0}, share);
  BOOST_TEST_REQUIRE(shown.size() == 1U);
  BOOST_TEST(shown[0].kind == "relu");
}

BOOST_FIXTURE_TEST_CASE(without_rates_an_op_is_taken_to_be_a_thousand_times_as_fast, Example) {
  machine.devices[0].flops.reset();
  share.kernels[0].expected = std::chrono::milliseconds(500'001);
  share.kernels[1].expected = std::chrono::seconds(100);
  warm_up_kernels(context, ResourceId{0}, share);
  BOOST_TEST_REQUIRE(shown.size() == 1U);
  BOOST_TEST(shown[0].kind == "relu");
}

// Other processes can't be sent them.
BOOST_FIXTURE_TEST_CASE(samples_have_no_values_of_the_program, Example) {
  const Attrs given = {{"values", std::shared_ptr<const ValueSource>(new NoValues)}};
  share.kernels[0].attrs = &given;
  const Share samples = kernel_samples(share);
  BOOST_TEST(samples.kernels.size() == 2U);
  BOOST_TEST(samples.kernels[0].attrs == nullptr);
  BOOST_TEST(samples.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
