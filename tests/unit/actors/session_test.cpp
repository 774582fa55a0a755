// Sessions: ordinary calls that run in parallel.
#include "actors/session.hpp"

#include "actors/tensor_ops.hpp"
#include "core/base/error.hpp"
#include "tests/unit/actors/session_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <malloc.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(session)
namespace {

Machine two_devices() {
  Machine machine;
  machine.name = "two devices";
  machine.memories = {{.name = "mem0", .size_bytes = std::uint64_t{1} << 30},
                      {.name = "mem1", .size_bytes = std::uint64_t{1} << 30}};
  machine.devices = {{.name = "cpu0", .memory = MemoryId{0}, .flops = 1e9, .bandwidth = 1e10},
                     {.name = "cpu1", .memory = MemoryId{1}, .flops = 1e9, .bandwidth = 1e10}};
  machine.links = {{.name = "copy", .a = MemoryId{0}, .b = MemoryId{1}, .bandwidth = {1e9, 1e9}}};
  return machine;
}

const Shape small{2, 2};
const std::vector<float> ones{1, 1, 1, 1};
const std::vector<float> some{1, 2, 3, 4};

}  // namespace

BOOST_AUTO_TEST_CASE(a_result_is_what_the_calls_say) {
  Session s(two_devices());
  const Tensor x = s.tensor(some, small);
  const Tensor y = matmul(x, x) + 2.0 * x - x;
  BOOST_TEST(y.read<float>() == (std::vector<float>{8, 12, 18, 26}),
             boost::test_tools::per_element());
}

template <class T>
void check_integers(DType dtype) {
  Session s(two_devices());
  const std::vector<T> values{-3, 0, std::numeric_limits<T>::max()};
  const Tensor x = s.tensor(values, {3});
  BOOST_TEST((x.type() == TensorType{dtype, {3}}));
  BOOST_TEST(((x - x).read<T>() == std::vector<T>{0, 0, 0}));
  BOOST_TEST((x * s.tensor(std::vector<T>{-1}, {1})).template read<T>() ==
                 (std::vector<T>{3, 0, -values[2]}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(elements_and_extents_may_be_written_in_place) {
  Session s(two_devices());
  BOOST_TEST((s.tensor({1.F, 2.F, 3.F}, {3}).read<float>() == std::vector<float>{1, 2, 3}));
  BOOST_TEST((s.tensor({1.0, 2.0}, {2}).read<double>() == std::vector<double>{1, 2}));
  BOOST_TEST((s.tensor({1, 2}, {1, 2}).read<std::int32_t>() == std::vector<std::int32_t>{1, 2}));
  const std::vector<std::int64_t> values{4, 5};
  BOOST_TEST(s.tensor(values, {values.size()}).read<std::int64_t>() == values);
  BOOST_TEST((s.tensor({std::int64_t{6}}, {1}).type() == TensorType{DType::i64, {1}}));
}

BOOST_AUTO_TEST_CASE(integers_are_given_computed_with_and_read) {
  check_integers<std::int32_t>(DType::i32);
  check_integers<std::int64_t>(DType::i64);
}

BOOST_AUTO_TEST_CASE(a_machine_value_gets_cores_of_this_host_unless_it_is_simulated) {
  for (const Mode mode : {Mode::run, Mode::simulate}) {
    const Session s(testing::session_machine(), {.mode = mode});
    for (const Device& device : s.machine().devices) {
      BOOST_TEST(device.cores.empty() == (mode == Mode::simulate));
    }
  }
}

// Options that a function makes, of op kinds that it makes.
SessionOptions options_with_a_kind() {
  OpRegistry ops = builtin_ops();
  ops.add({.name = "seven",
           .type =
               [](const OpSignature&) {
                 return TensorType{DType::f32, {1}};
               },
           .cpu = [](const CpuCall& call) { call.output.as<float>()[0] = 7; }});
  return {.ops = ops};
}

BOOST_AUTO_TEST_CASE(options_of_a_session_own_the_op_kinds_that_they_are_given) {
  const SessionOptions options = options_with_a_kind();
  Session s(two_devices(), options);
  BOOST_TEST(s.call("seven", {}).read<float>() == std::vector<float>{7},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_was_measured_first_is_still_there_after_more_was_measured) {
  Session s(two_devices());
  const ScenarioReport& first = s.measure("first", [&] { s.zeros(small); });
  for (int i = 0; i < 40; ++i) s.measure("another", [&] { s.zeros(small); });
  BOOST_TEST(first.name == "first");
  const Report report = s.report();
  BOOST_TEST(report.scenarios.size() == 41U);
  BOOST_TEST(report.scenarios[0].makespan.count() == first.makespan.count());
}

BOOST_AUTO_TEST_CASE(a_session_that_was_moved_from_refuses_to_be_used) {
  Session old(two_devices());
  Session s = std::move(old);
  const std::vector<std::function<void()>> uses{[&] { old.uniform(small); },
                                                [&] { old.tensor(some, small); },
                                                [&] { old.wait_all(); },
                                                [&] { old.machine(); },
                                                [&] { old.report(); },
                                                [&] { const DeviceScope on = old.on("cpu0"); },
                                                [&] { old.measure("none", [] {}); }};
  for (const auto& use : uses) {
    check_error(use, {"this session was moved from; use the one that it was moved to"});
  }
  const std::map<std::string, Tensor> none;
  check_error([&] { old.save("x.safetensors", none); }, {"this session was moved from"},
              "session_test.cpp", __LINE__ - 1);
  BOOST_TEST(s.zeros(small).read<float>().size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_session_can_be_moved_with_its_tensors_and_scopes) {
  std::vector<Session> sessions;
  Tensor x;
  BOOST_TEST(!x);
  for (int i = 0; i < 3; ++i) {
    Session s(two_devices());
    const DeviceScope on = s.on("cpu1");
    if (i == 0) x = s.tensor(some, small);
    sessions.push_back(std::move(s));
    sessions.back().zeros(small);
    sessions.back().wait("cpu1");
  }
  BOOST_TEST(static_cast<bool>(x));
  const Tensor moved = std::move(x);
  BOOST_TEST(!x);  // NOLINT(bugprone-use-after-move)
  BOOST_TEST((moved + moved).read<float>() == (std::vector<float>{2, 4, 6, 8}),
             boost::test_tools::per_element());
  sessions.front().wait_all();
}

BOOST_AUTO_TEST_CASE(a_call_is_placed_on_the_device_of_its_scope_and_copied_where_it_is_read) {
  Session s(two_devices());
  Tensor x;
  {
    const DeviceScope on = s.on("cpu1");
    x = s.tensor(some, small);
  }
  const DeviceScope on = s.on("cpu0");
  const ScenarioReport& report = s.measure("sum", [&] { (x + x).to("mem1").wait(); });
  BOOST_TEST(report.ops == 2U);
  BOOST_TEST(report.transfers == 1U);  // the warm-up has brought x to mem0
}

BOOST_AUTO_TEST_CASE(a_tensor_made_first_is_read_by_every_later_step_and_pins_nothing_else) {
  Session s(two_devices());
  const Tensor weight = s.tensor(ones, small);
  Tensor x = s.zeros(small);
  constexpr int steps = 300'000;
  for (int i = 0; i < steps; ++i) x = x + weight;
  BOOST_TEST(x.read<float>() == std::vector<float>(4, steps), boost::test_tools::per_element());
  BOOST_TEST(weight.read<float>() == ones, boost::test_tools::per_element());
}

// What is known of calls with the same attributes is forgotten, too, when there are many.
BOOST_AUTO_TEST_CASE(attributes_that_differ_from_call_to_call_take_no_memory_for_ever) {
  const auto bytes_in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  };
  Session s(two_devices());
  const Tensor one = s.tensor(ones, small);
  Tensor x;
  // It grows until there are so many that all are forgotten: what counts is the most.
  const auto most_while_scaling = [&](int from, int to) {
    double most = 0;
    for (int i = from; i < to; ++i) {
      x = static_cast<double>(i) * one;
      if (i % 1'000 == 999) most = std::max(most, bytes_in_use());
    }
    BOOST_TEST(x.read<float>() == std::vector<float>(4, static_cast<float>(to - 1)),
               boost::test_tools::per_element());
    return most;
  };
  const double before = most_while_scaling(0, 150'000);
  const double after = most_while_scaling(150'000, 450'000);
  BOOST_TEST(after - before < 40e6);  // of 100 MB
}

BOOST_AUTO_TEST_CASE(names_of_attributes_need_not_last_longer_than_the_call) {
  Session s(testing::session_machine());
  const std::vector<float> values{1, 2, 3, 4};
  const Tensor a = s.tensor(values, {2, 2});
  std::vector<std::vector<float>> products;
  for (const char side : {'a', 'b'}) {
    std::string name = std::string("transpose_") + side;
    const Tensor product = s.call("matmul", {a, a}, {{name, true}});
    name.back() = '?';
    products.push_back(product.read<float>());
  }
  BOOST_TEST((products[0] == std::vector<float>{10, 14, 14, 20}));  // AᵀA
  BOOST_TEST((products[1] == std::vector<float>{5, 11, 11, 25}));   // AAᵀ
}

BOOST_AUTO_TEST_CASE(numbers_that_differ_in_their_sign_only_are_different_attributes) {
  Session s(testing::session_machine());
  const Tensor one = s.tensor(std::vector<double>{1}, {1});
  for (const double factor : {0.0, -0.0}) {
    const std::vector<double> product = (factor * one).read<double>();
    BOOST_TEST(std::signbit(product[0]) == std::signbit(factor));
  }
}

BOOST_AUTO_TEST_CASE(shapes_may_differ_from_call_to_call) {
  Session s(two_devices());
  double sum = 0;
  for (std::int64_t n = 1; n <= 20'000; ++n) {
    const Tensor x = s.zeros({n});
    if (n % 1'000 == 0) sum += static_cast<double>(x.read<float>().size());
  }
  BOOST_TEST(sum == 210'000);
}

BOOST_AUTO_TEST_CASE(several_threads_may_call_and_read_at_the_same_time) {
  Session s(two_devices());
  const Tensor one = s.tensor(ones, small);
  constexpr int steps = 5'000;
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : results) {
    threads.emplace_back([&] {
      Tensor x = s.zeros(small);
      for (int i = 0; i < steps; ++i) {
        x = x + one;
        if (i % 1'000 == 0) x.wait();
      }
      result = x.read<float>();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : results) {
    BOOST_TEST(result == std::vector<float>(4, steps), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_op_without_inputs_is_called_by_name) {
  Session s(two_devices());
  const Tensor twos = s.call("constant", {}, {{"value", 2.0}}, {.shape = {3}});
  BOOST_TEST(twos.read<float>() == std::vector<float>(3, 2), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_call_is_carried_out_though_nobody_keeps_its_result) {
  Session s(two_devices(), {.mode = Mode::simulate});
  const Tensor x = s.uniform({8, 8});
  const ScenarioReport& report = s.measure("all", [&] {
    for (int i = 0; i < 100; ++i) matmul(x, x);
  });
  BOOST_TEST(report.ops == 100U);
  BOOST_TEST((report.outcome == Outcome::done));
}

BOOST_AUTO_TEST_CASE(a_measurement_may_have_more_ops_than_an_epoch) {
  Session s(two_devices(), {.mode = Mode::simulate});
  const Tensor x = s.uniform({8, 8});
  const ScenarioReport& report = s.measure("many", [&] {
    for (int i = 0; i < 100'000; ++i) x + x;
  });
  BOOST_TEST(report.ops == 100'000U);
}

BOOST_AUTO_TEST_CASE(a_simulation_gives_the_same_times_however_often_it_runs) {
  const auto makespan = [] {
    Session s(two_devices(), {.mode = Mode::simulate});
    const Tensor x = s.uniform({100, 100});
    return s
        .measure("run and copy",
                 [&] {
                   const DeviceScope on = s.on("cpu0");
                   for (int i = 0; i < 10; ++i) matmul(x, x).to("mem1");
                 })
        .makespan;
  };
  const Duration first = makespan();
  BOOST_TEST(first.count() > 0);
  for (int i = 0; i < 5; ++i) BOOST_TEST((makespan() == first));
}

BOOST_AUTO_TEST_CASE(a_failed_op_reaches_the_waiting_caller_with_its_line) {
  Session s(two_devices());
  const Tensor x = s.tensor(ones, small);
  const int line = __LINE__ + 1;
  const Tensor y = s.call("fail", {&x, 1});
  try {
    y.wait();
    BOOST_FAIL("no error");
  } catch (const Error& error) {
    const std::string what = error.what();
    BOOST_TEST(what.find("session_test.cpp:" + std::to_string(line)) != std::string::npos, what);
    BOOST_TEST(what.find("cpu") != std::string::npos, what);
  }
  BOOST_CHECK_THROW(relu(x), Error);
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_match_are_refused_at_the_call) {
  Session s(two_devices());
  const Tensor x = s.zeros({2, 3});
  const int line = __LINE__ + 2;
  try {
    matmul(x, x);
    BOOST_FAIL("no error");
  } catch (const Error& error) {
    BOOST_TEST(error.place().line == line);
    BOOST_TEST(std::string(error.what()).find("[2, 3]") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(tensors_of_two_sessions_are_not_mixed) {
  Session a(two_devices());
  Session b(two_devices());
  const Tensor x = a.zeros(small);
  const Tensor y = b.zeros(small);
  BOOST_CHECK_THROW(x + y, Error);
}

BOOST_AUTO_TEST_CASE(a_handle_may_outlive_its_session) {
  Tensor x;
  {
    Session s(two_devices());
    x = s.zeros(small) + s.zeros(small);
  }
  x = Tensor();
}

// How it ends, after main, shows in how this program ends.
BOOST_AUTO_TEST_CASE(a_session_may_be_a_static_object) {
  static Session session(two_devices());
  static const Tensor x = session.uniform({4});
  BOOST_TEST(x.read<float>().size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_session_may_end_on_another_thread_than_the_one_that_made_it) {
  std::unique_ptr<Session> session;
  std::promise<void> is_made;
  std::promise<void> has_ended;
  std::thread maker([&] {
    session = std::make_unique<Session>(two_devices());
    session->uniform({4}).wait();
    is_made.set_value();
    has_ended.get_future().wait();
  });
  is_made.get_future().wait();
  session.reset();
  has_ended.set_value();
  maker.join();
}

BOOST_AUTO_TEST_CASE(a_scope_that_outlives_its_session_places_no_calls_of_others) {
  auto session = std::make_unique<Session>(two_devices());
  const DeviceScope on = session->on("cpu1");
  Machine one_device = two_devices();
  one_device.devices.pop_back();
  for (int i = 0; i < 10; ++i) {
    session.reset();
    session = std::make_unique<Session>(one_device);  // perhaps where the first one was
    BOOST_TEST(session->uniform({4}).read<float>().size() == 4U);
  }
}

BOOST_AUTO_TEST_CASE(handles_may_be_dropped_while_another_thread_destroys_their_session) {
  for (int round = 0; round < 100; ++round) {
    std::vector<Tensor> made;
    std::vector<float> adopted{1, 2, 3, 4};
    std::atomic<bool> begins = false;
    std::thread drops;
    {
      Session s(two_devices(), {.mode = Mode::simulate});
      for (int i = 0; i < 30; ++i) made.push_back(s.zeros(small));
      made.push_back(s.adopt(std::span<const float>(adopted), small, [] {}));
      drops = std::thread([&] {
        while (!begins) {
        }
        made.clear();
      });
      begins = true;
    }
    drops.join();
  }
}

BOOST_AUTO_TEST_SUITE_END()
