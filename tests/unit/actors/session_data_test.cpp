// Data that a program gives to a session without a copy.
#include "tests/unit/actors/session_fixture.hpp"

#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <stdlib.h>

using namespace troupe;
using testing::KernelState;

BOOST_AUTO_TEST_SUITE(session_data)
namespace {

// Numbers 0, 1, 2, …, that begin `offset` floats behind a multiple of 4096 bytes, and the number of
// times that they were given back.
class Elements {
 public:
  Elements(std::size_t count, std::size_t offset = 0)
      : room_(allocate((count + offset) * sizeof(float))), elements_(room_.get() + offset, count) {
    for (std::size_t i = 0; i < count; ++i) elements_[i] = static_cast<float>(i);
  }
  std::span<const float> span() const { return elements_; }
  Shape shape() const { return {static_cast<std::int64_t>(elements_.size())}; }
  std::vector<float> values() const { return {elements_.begin(), elements_.end()}; }
  std::function<void()> deleter() {
    return [this] { ++deleted_; };
  }
  int deleted() const { return deleted_; }
  void await_deleted() const {
    while (deleted_ == 0) std::this_thread::yield();
  }

 private:
  // Exactly so many, so that AddressSanitizer sees whoever reads behind the end.
  static float* allocate(std::size_t bytes) {
    void* room = nullptr;
    BOOST_REQUIRE(posix_memalign(&room, 4096, bytes) == 0);
    return static_cast<float*>(room);
  }

  struct Free {
    void operator()(float* room) const { free(room); }
  };
  std::unique_ptr<float, Free> room_;
  std::span<float> elements_;
  std::atomic<int> deleted_ = 0;
};

Machine with_disk() {
  Machine machine = testing::session_machine();
  machine.memories.push_back({.name = "disk", .kind = MemoryKind::storage});
  machine.links.push_back(
      {.name = "file", .a = MemoryId{0}, .b = MemoryId{2}, .bandwidth = {1e9, 1e9}});
  return machine;
}

// The most memory that this process has had since reset_peak(), in KiB.
std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string field; status >> field;) {
    std::int64_t kib = 0;
    if (field == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

// Whether it is given there or copied there, with 1 GB/s.
BOOST_AUTO_TEST_CASE(what_is_given_to_a_gpu_comes_by_a_transfer_from_the_host) {
  Machine machine = testing::session_machine();
  machine.devices[1].kind = DeviceKind::gpu;
  Session s(machine, {.mode = Mode::simulate});
  const std::vector<float> values(250'000);
  const auto measured = [&](const char* name, auto&& work) {
    const ScenarioReport& report = s.measure(name, work);
    return std::pair(report.makespan, report.transfers);
  };
  const auto given = measured("given", [&] {
    const DeviceScope on_gpu = s.on("cpu1");
    s.tensor(values, {250'000}).wait();
  });
  const auto copied = measured("copied", [&] { s.tensor(values, {250'000}).to("mem1").wait(); });
  BOOST_TEST(given.first.count() == 1'000'000);
  BOOST_TEST(given.second == 1U);
  BOOST_TEST((given == copied));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_large_tensor_is_copied_once_and_in_a_simulation_not_at_all) {
  constexpr std::int64_t mib = 64;
  const std::vector<float> ones(mib << 18, 1);
  for (const Mode mode : {Mode::simulate, Mode::run}) {
    BOOST_TEST_CONTEXT("mode " << static_cast<int>(mode)) {
      Session s(testing::session_machine(), {.mode = mode});
      reset_peak();
      const std::int64_t before = peak_kib();
      s.tensor(ones, {mib << 18}).wait();
      BOOST_TEST(peak_kib() - before < (mode == Mode::run ? mib * 1024 * 3 / 2 : mib * 1024 / 2));
    }
  }
}

// It waits behind more calls than are handed out at once.
BOOST_AUTO_TEST_CASE(a_large_tensor_that_a_session_never_got_may_be_dropped_after_it_has_failed) {
  const std::vector<float> ones(1 << 18, 1);
  Tensor kept;
  {
    Session s(testing::session_machine(), {.ops = testing::session_ops()});
    KernelState::is_gate_open = false;
    Tensor x = s.call("fail", {s.call("gate", {})});
    for (int i = 0; i < 600; ++i) x = s.call("copy", {x});
    kept = s.tensor(ones, {1 << 18});
    KernelState::is_gate_open = true;
    BOOST_CHECK_THROW(x.wait(), Error);
  }
  kept = Tensor();
}

BOOST_AUTO_TEST_CASE(a_single_element_may_have_no_dimensions) {
  Session s(testing::session_machine());
  const std::vector<float> three{3};
  const Tensor x = s.tensor(three, Shape{});
  const Tensor y = s.adopt(three, Shape{}, [] {}) + x;
  BOOST_TEST((y.shape() == Shape{}));
  BOOST_TEST((y.read<float>() == std::vector<float>{6}));
}

BOOST_AUTO_TEST_CASE(adopted_elements_are_read_where_they_are_until_the_last_handle_is_gone) {
  Elements elements(1'000, 1);
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  Tensor x = s.adopt(elements.span(), elements.shape(), elements.deleter());
  {
    const DeviceScope on = s.on("cpu0");
    s.call("note_input", {&x, 1}).wait();
  }
  BOOST_TEST(KernelState::input == std::as_bytes(elements.span()).data());
  BOOST_TEST(x.read<float>() == elements.values(), boost::test_tools::per_element());
  BOOST_TEST(elements.deleted() == 0);
  x = Tensor();
  elements.await_deleted();
  s.wait_all();
  BOOST_TEST(elements.deleted() == 1);
}

BOOST_AUTO_TEST_CASE(an_op_that_was_called_reads_adopted_elements_before_they_are_given_back) {
  Elements elements(4);
  Session s(testing::session_machine());
  const Tensor y = 2.0 * s.adopt(elements.span(), {4}, elements.deleter());
  BOOST_TEST(y.read<float>() == (std::vector<float>{0, 2, 4, 6}), boost::test_tools::per_element());
  elements.await_deleted();
}

BOOST_AUTO_TEST_CASE(adopted_elements_outlive_the_epoch_in_which_they_were_given) {
  Elements elements(4);
  Session s(testing::session_machine());
  const Tensor x = s.adopt(elements.span(), {4}, elements.deleter());
  for (int i = 0; i < 200'000; ++i) x + x;
  s.wait_all();
  BOOST_TEST(elements.deleted() == 0);
  BOOST_TEST(x.read<float>() == elements.values(), boost::test_tools::per_element());
}

// Direct I/O writes whole pages: nothing behind the last element may be read.
BOOST_AUTO_TEST_CASE(adopted_elements_are_copied_to_storage_up_to_their_end) {
  // The second is as far from a cache line as what operator new returns.
  for (const std::size_t offset : {0, 4}) {
    Elements elements(5'000, offset);
    Session s(with_disk());
    const Tensor x = s.adopt(elements.span(), elements.shape(), elements.deleter());
    BOOST_TEST(x.to("disk").read<float>() == elements.values(), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(elements_whose_home_is_storage_are_copied_there_and_given_back) {
  Elements elements(1'000);
  Machine machine = with_disk();
  std::swap(machine.memories[0], machine.memories[2]);
  machine.devices[0].memory = MemoryId{2};
  machine.links = {{.name = "file", .a = MemoryId{0}, .b = MemoryId{2}, .bandwidth = {1e9, 1e9}}};
  machine.devices.pop_back();
  Session s(machine);
  const Tensor x = s.adopt(elements.span(), elements.shape(), elements.deleter());
  elements.await_deleted();
  BOOST_TEST(x.read<float>() == elements.values(), boost::test_tools::per_element());
  BOOST_TEST((x + x).read<float>()[999] == 1'998);
}

BOOST_AUTO_TEST_CASE(elements_are_given_back_once_when_the_session_ends_or_has_failed) {
  Elements used(16);
  Elements kept(16);
  Elements behind_failure(16);
  Tensor handle;
  {
    Session s(testing::session_machine());
    const Tensor x = s.adopt(used.span(), {16}, used.deleter());
    handle = s.adopt(kept.span(), {16}, kept.deleter());
    const Tensor failed = s.call("fail", {&x, 1});
    try {
      s.adopt(behind_failure.span(), {16}, behind_failure.deleter()) + failed;
    } catch (const Error&) {  // shapes differ, or the session has failed by now
    }
    BOOST_CHECK_THROW(failed.wait(), Error);
  }
  handle = Tensor();
  BOOST_TEST(used.deleted() == 1);
  BOOST_TEST(kept.deleted() == 1);
  BOOST_TEST(behind_failure.deleted() == 1);
}

BOOST_AUTO_TEST_CASE(elements_are_given_back_if_adopting_them_fails_or_nothing_is_computed) {
  Elements elements(16);
  Elements simulated(16);
  Session s(testing::session_machine());
  const int line = __LINE__ + 1;
  const auto adopt = [&] { s.adopt(elements.span(), {4, 5}, elements.deleter()); };
  testing::check_error(adopt, {"16 elements", "[4, 5]", "give 20"}, "session_data_test.cpp", line);
  BOOST_TEST(elements.deleted() == 1);
  {
    Session simulation(testing::session_machine(), {.mode = Mode::simulate});
    simulation.adopt(simulated.span(), {16}, simulated.deleter());
  }
  BOOST_TEST(simulated.deleted() == 1);
}

// Of a million values, the moments have standard deviations of 0.001 to 0.01.
BOOST_AUTO_TEST_CASE(normal_values_have_the_moments_of_their_distribution) {
  Session s(testing::session_machine());
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const std::int64_t seed : {0, 1, 77}) {
      BOOST_TEST_CONTEXT(to_string(dtype) << ", seed " << seed) {
        const Tensor x = cast(s.normal({1'000, 1'000}, seed, dtype), DType::f64);
        const std::vector<double> values = x.read<double>();
        double moments[4] = {};
        std::size_t beyond_two = 0;
        for (const double v : values) {
          double power = 1;
          for (double& moment : moments) moment += (power *= v) / 1e6;
          beyond_two += std::abs(v) > 2 ? 1 : 0;
        }
        const double expected[4] = {0, 1, 0, 3};
        for (std::size_t m = 0; m < 4; ++m) BOOST_TEST(std::abs(moments[m] - expected[m]) < 0.03);
        BOOST_TEST(std::abs(static_cast<double>(beyond_two) / 1e6 - 0.0455) < 0.002);
        // Neighbours have nothing to do with each other.
        double product = 0;
        for (std::size_t i = 1; i < values.size(); ++i) product += values[i] * values[i - 1] / 1e6;
        BOOST_TEST(std::abs(product) < 0.01);
      }
    }
  }
  BOOST_TEST((s.normal({50}, 3).read<float>() == s.normal({50}, 3).read<float>()));
  BOOST_TEST((s.normal({50}, 3).read<float>() != s.normal({50}, 4).read<float>()));
}

template <class T>
concept CountsRange = requires(Session& s, T count) {
  s.arange(count);
};

BOOST_AUTO_TEST_CASE(a_range_counts_from_0_in_every_element_type) {
  Session s(testing::session_machine());
  BOOST_TEST(s.arange(4).read<std::int64_t>() == (std::vector<std::int64_t>{0, 1, 2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(s.arange(3, DType::i32).read<std::int32_t>() == (std::vector<std::int32_t>{0, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(s.arange(3, DType::f32).read<float>() == (std::vector<float>{0, 1, 2}),
             boost::test_tools::per_element());
  BOOST_TEST(s.arange(1, DType::f64).read<double>() == (std::vector<double>{0}),
             boost::test_tools::per_element());
  constexpr std::int64_t ends[] = {0, -3, std::int64_t{1} << 50};
  for (const std::int64_t count : ends) BOOST_CHECK_THROW(s.arange(count), Error);
  BOOST_TEST((CountsRange<int> && CountsRange<std::size_t>));
  BOOST_TEST(!CountsRange<double>);
  constexpr std::int64_t int32_count = std::int64_t{1} << 31;
  expect_error(ErrorKind::usage, "numbers beyond int32",
               [&] { s.arange(int32_count + 1, DType::i32); });
  // Whose numbers aren't made.
  Session simulated(testing::session_machine(), {.mode = Mode::simulate});
  BOOST_TEST((simulated.arange(100).type() == TensorType{DType::i64, {100}}));
}

BOOST_AUTO_TEST_SUITE_END()
