#include "core/backend/openblas/openblas_backend.hpp"

#include "core/backend/openblas/pinning.hpp"
#include "tests/support/cores_op.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/waiting_completions.hpp"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
using testing::cores_of_this_thread;
using testing::expect_error;
using testing::has_two_cores;
using testing::SeenCores;
using testing::ThreadCores;
using testing::WaitingCompletions;

BOOST_AUTO_TEST_SUITE(openblas_backend)
namespace {

// An op whose output is for how many threads its team says that work is cut.
OpKind widest_team_op() {
  return {
      .name = "widest_team", .inputs = 0, .declares_type = true, .cpu = [](const CpuCall& call) {
        call.output.as<double>()[0] = static_cast<double>(call.team.widest_team());
      }};
}

const OpRegistry& ops() {
  static const OpRegistry registry = [] {
    OpRegistry extended = builtin_ops();
    extended.add(testing::cores_op());
    extended.add(widest_team_op());
    return extended;
  }();
  return registry;
}

// A CPU device with one memory, and tensors of 64 doubles in it.
struct Sample {
  Machine machine;
  MemoryStore store;
  WaitingCompletions completions;
  std::unique_ptr<DeviceBackend> backend;
  static constexpr std::uint32_t tensors = 8;
  std::vector<Attrs> attrs = {{{"iterations", 1000}}, {{"after", Duration{0}}}};

  explicit Sample(int streams, std::vector<int> cores = {})
      : machine{.name = "test",
                .devices = {{.name = "cpu0",
                             .memory = MemoryId::at(0),
                             .streams = streams,
                             .cores = std::move(cores)}},
                .memories = {{.name = "mem0", .size_bytes = 1 << 20}},
                .links = {}},
        store(machine, MemoryStore::Backing::buffers),
        backend(openblas_device_backend().make({.machine = machine,
                                                .ops = ops(),
                                                .store = store,
                                                .completions = completions,
                                                .widest_team = 7},
                                               DeviceId::at(0))) {
    const std::vector<ReplicaSpec> specs(
        tensors, ReplicaSpec{.memory = MemoryId::at(0), .type = 0, .readers = 1});
    store.install(specs, std::vector{TensorType{DType::f64, {64}}});
    for (std::size_t i = 0; i < tensors; ++i) store.acquire(ReplicaId::at(i));
  }

  KernelCall call(const char* kind, const Attrs& attrs_of_it, std::size_t output) const {
    return {.kind = ops().find(kind), .attrs = &attrs_of_it, .output = ReplicaId::at(output)};
  }
  bool same(std::size_t a, std::size_t b) const {
    return std::memcmp(store.data(ReplicaId::at(a)), store.data(ReplicaId::at(b)), 512) == 0;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_backend_fits_cpu_devices_and_has_every_cpu_kernel) {
  Machine machine{.name = "test",
                  .devices = {{.name = "cpu0", .kind = DeviceKind::cpu},
                              {.name = "gpu0", .kind = DeviceKind::gpu}},
                  .memories = {},
                  .links = {}};
  const DeviceBackendEntry entry = openblas_device_backend();
  BOOST_TEST(entry.fits(machine, DeviceId::at(0)));
  BOOST_TEST(!entry.fits(machine, DeviceId::at(1)));
  OpKind kind = builtin_ops()[builtin_ops().find("relu")];
  BOOST_TEST(entry.has_kernel(machine, DeviceId::at(0), kind));
  kind.cpu = nullptr;
  BOOST_TEST(!entry.has_kernel(machine, DeviceId::at(0), kind));
}

BOOST_AUTO_TEST_CASE(one_stream_computes_on_the_calling_thread) {
  Sample s(1);
  const Started started = s.backend->start(0, s.call("spin", s.attrs[0], 0));
  BOOST_TEST((started.state == Started::State::finished));
  BOOST_TEST(s.completions.count() == 0U);
  expect_error(ErrorKind::failed, "it failed on purpose",
               [&] { s.backend->start(0, s.call("fail", s.attrs[1], 1)); });
}

BOOST_AUTO_TEST_CASE(kernels_are_cut_for_the_widest_team_of_the_run) {
  for (const int streams : {1, 2}) {
    Sample s(streams);
    const Attrs none;
    if (s.backend->start(0, s.call("widest_team", none, 0)).state == Started::State::pending) {
      s.completions.wait();
    }
    BOOST_TEST(*reinterpret_cast<const double*>(s.store.data(ReplicaId::at(0))) == 7);
  }
}

BOOST_AUTO_TEST_CASE(several_streams_compute_at_once_and_tell_their_ends) {
  Sample s(4);
  for (int round = 0; round < 100; ++round) {
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      const Started started = s.backend->start(slot, s.call("spin", s.attrs[0], slot));
      BOOST_TEST((started.state == Started::State::pending));
    }
    std::uint32_t slots_told = 0;
    for (int i = 0; i < 4; ++i) {
      const auto told = s.completions.wait();
      BOOST_TEST(!told.cause);
      slots_told |= 1U << told.slot;
    }
    BOOST_TEST(slots_told == 15U);
  }
  for (std::size_t i = 1; i < 4; ++i) BOOST_TEST(s.same(0, i));
}

BOOST_AUTO_TEST_CASE(a_stream_tells_why_its_kernel_failed_and_goes_on) {
  Sample s(2);
  s.backend->start(1, s.call("fail", s.attrs[1], 0));
  const auto told = s.completions.wait();
  BOOST_TEST(told.slot == 1U);
  BOOST_REQUIRE(told.cause.has_value());
  BOOST_TEST(told.cause->find("it failed on purpose") != std::string::npos);
  s.backend->start(1, s.call("spin", s.attrs[0], 1));
  BOOST_TEST(!s.completions.wait().cause);
}

BOOST_AUTO_TEST_CASE(the_device_thread_is_pinned_to_the_first_core_of_the_device) {
  const std::vector<int> usable = cores_of_this_thread();
  Sample s(1, usable);
  std::vector<int> inside;
  std::thread([&] {
    s.backend->enter_thread();
    inside = cores_of_this_thread();
  }).join();
  BOOST_TEST(inside == std::vector{usable.front()}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_device_without_cores_leaves_its_thread_unpinned) {
  const std::vector<int> usable = cores_of_this_thread();
  Sample s(1);
  s.backend->enter_thread();
  BOOST_TEST(cores_of_this_thread() == usable, boost::test_tools::per_element());
}

//   cores a b, one stream: the device's thread on a, one helper on b
BOOST_AUTO_TEST_CASE(the_threads_of_a_device_are_one_for_each_of_its_cores,
                     *boost::unit_test::precondition(has_two_cores)) {
  const std::vector<int> usable = cores_of_this_thread();
  for (const auto& cores : {std::vector{usable[0], usable[1]}, std::vector{usable[1], usable[0]}}) {
    Sample s(1, cores);
    std::thread([&] {
      s.backend->enter_thread();
      s.backend->start(0, s.call("cores", s.attrs[0], 0));
    }).join();
    BOOST_TEST((SeenCores::take() == std::vector<ThreadCores>{{{cores[0]}, {cores[1]}}}));
  }
}

//   cores a b, two streams: a | b;  three: a | b | a;  cores a b b a, two streams: a b | b a
BOOST_AUTO_TEST_CASE(the_cores_of_a_device_are_split_among_its_streams,
                     *boost::unit_test::precondition(has_two_cores)) {
  const std::vector<int> usable = cores_of_this_thread();
  const int a = usable[0];
  const int b = usable[1];
  const auto seen = [](std::vector<int> cores, std::size_t streams) {
    Sample s(static_cast<int>(streams), std::move(cores));
    for (std::uint32_t slot = 0; slot < streams; ++slot) {
      s.backend->start(slot, s.call("cores", s.attrs[0], slot));
      BOOST_TEST(!s.completions.wait().cause);
    }
    return SeenCores::take();
  };
  BOOST_TEST((seen({a, b}, 2) == std::vector<ThreadCores>{{{a}}, {{b}}}));
  BOOST_TEST((seen({a, b}, 3) == std::vector<ThreadCores>{{{a}}, {{b}}, {{a}}}));
  BOOST_TEST((seen({a, b, b, a}, 2) == std::vector<ThreadCores>{{{a}, {b}}, {{b}, {a}}}));
  BOOST_TEST((seen({}, 2) == std::vector<ThreadCores>{{usable}, {usable}}));
}

BOOST_AUTO_TEST_CASE(pinning_to_no_core_or_a_missing_one_changes_nothing) {
  const std::vector<int> usable = cores_of_this_thread();
  pin_this_thread({});
  pin_this_thread(std::vector{1 << 20});
  pin_this_thread(std::vector{-1});
  BOOST_TEST(cores_of_this_thread() == usable, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
