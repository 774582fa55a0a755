// What the waits of a session wait for, and what they don't.
#include "tests/unit/actors/session_fixture.hpp"

#include <chrono>
#include <future>
#include <optional>
#include <thread>

using namespace troupe;
using namespace std::chrono_literals;
using testing::KernelState;

BOOST_AUTO_TEST_SUITE(session_waits)
namespace {

// Closed while it lives.
class Gate {
 public:
  Gate() {
    KernelState::is_gate_open = false;
    KernelState::has_passed_gate = false;
  }
  ~Gate() { open(); }
  void open() { KernelState::is_gate_open = true; }
  bool is_passed() const { return KernelState::has_passed_gate; }
};

Tensor call_on(Session& s, std::string_view device, std::string_view kind, Attrs attrs = {}) {
  const DeviceScope on = s.on(device);
  return s.call(kind, {}, std::move(attrs));
}

// cpu0 sleeps for 10 s. On cpu1, what `wait` waits for takes 1 s, and what is called behind the
// wait 9.5 s.
Duration makespan_with(const std::function<void(Session&, const Tensor&)>& wait) {
  Session s(testing::session_machine(), {.mode = Mode::simulate});
  return s
      .measure("sleeps",
               [&] {
                 call_on(s, "cpu0", "sleep", {{"duration", Duration(10s)}});
                 wait(s, call_on(s, "cpu1", "sleep", {{"duration", Duration(1s)}}));
                 call_on(s, "cpu1", "sleep", {{"duration", Duration(9500ms)}});
               })
      .makespan;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_called_is_carried_out_before_anybody_waits) {
  KernelState::counted = 0;
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  for (int i = 0; i < 100; ++i) call_on(s, "cpu1", "count");
  const auto late = std::chrono::steady_clock::now() + 60s;
  while (KernelState::counted < 100 && std::chrono::steady_clock::now() < late) {
    std::this_thread::sleep_for(1ms);
  }
  BOOST_TEST(KernelState::counted == 100);
}

BOOST_AUTO_TEST_CASE(a_wait_with_a_timeout_says_whether_the_tensor_has_been_made) {
  Gate gate;
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  const Tensor y = call_on(s, "cpu0", "gate");
  BOOST_TEST(!y.wait_for(-1s));
  BOOST_TEST(!y.wait_for(0s));
  const auto begun = std::chrono::steady_clock::now();
  BOOST_TEST(!y.wait_for(20ms));
  BOOST_TEST(!y.wait_for(0.02s));
  BOOST_TEST((std::chrono::steady_clock::now() - begun >= 40ms));
  BOOST_TEST(!y.wait_for(std::chrono::duration<double>(-1e300)));
  const Tensor other = call_on(s, "cpu1", "count");
  BOOST_TEST(other.wait_for(60s));  // y hasn't been made
  BOOST_TEST(!gate.is_passed());
  gate.open();
  BOOST_TEST(y.wait_for(std::chrono::hours::max()));
  BOOST_TEST(gate.is_passed());
  BOOST_TEST(y.wait_for(0s));

  const Tensor failing = call_on(s, "cpu0", "throw_this");
  BOOST_CHECK_THROW(failing.wait_for(60s), Error);
  BOOST_CHECK_THROW(Tensor().wait_for(0s), Error);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_asked_for_now_and_then_is_made) {
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  for (int i = 0; i < 300; ++i) {
    const Tensor y = call_on(s, "cpu1", "count");
    const auto late = std::chrono::steady_clock::now() + 60s;
    while (!y.wait_for(0s) && std::chrono::steady_clock::now() < late) std::this_thread::yield();
    BOOST_REQUIRE(y.wait_for(0s));
  }
}

// The session's thread is busy with other calls.
BOOST_AUTO_TEST_CASE(a_tensor_that_was_found_made_stays_so) {
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  const Tensor y = call_on(s, "cpu1", "count");
  BOOST_REQUIRE(y.wait_for(60s));
  for (int i = 0; i < 10'000; ++i) {
    call_on(s, "cpu1", "count");
    BOOST_REQUIRE(y.wait_for(0s));
  }
}

BOOST_AUTO_TEST_CASE(a_simulation_waits_whatever_the_timeout) {
  for (const Duration timeout : {Duration(0s), Duration(1us), Duration(60s)}) {
    bool is_made = false;
    const Duration makespan =
        makespan_with([&](Session&, const Tensor& y) { is_made = y.wait_for(timeout); });
    BOOST_TEST(is_made);
    BOOST_TEST((makespan == Duration(10500ms)));
  }
}

BOOST_AUTO_TEST_CASE(a_session_that_ends_carries_out_what_was_called) {
  KernelState::counted = 0;
  {
    Gate gate;
    Session s(testing::session_machine(), {.ops = testing::session_ops()});
    call_on(s, "cpu1", "gate");
    for (int i = 0; i < 20'000; ++i) call_on(s, "cpu1", "count");
    gate.open();
  }
  BOOST_TEST(KernelState::counted == 20'000);
}

// A wait is over when its tensor has been made; a read may come too late.
BOOST_AUTO_TEST_CASE(waits_and_reads_on_other_threads_may_go_on_while_their_session_ends) {
  for (int round = 0; round < 30; ++round) {
    Gate gate;
    std::optional<Session> s;
    s.emplace(testing::session_machine(), SessionOptions{.ops = testing::session_ops()});
    const Tensor y = call_on(*s, "cpu0", "gate");
    const auto result_of = [](const std::function<float()>& use) {
      return std::async(std::launch::async, [use]() -> std::string {
        try {
          return use() == 1 ? "" : "another value";
        } catch (const Error& error) {
          return error.problem() == "the session of this tensor has ended" ? "" : error.what();
        }
      });
    };
    std::future<std::string> waited = result_of([&] {
      y.wait();
      return 1.0F;
    });
    std::future<std::string> read = result_of([&] { return y.read<float>()[0]; });
    std::future<std::string> shown = result_of([&] { return std::stof(y.text().substr(1)); });
    std::future<void> opened = std::async(std::launch::async, [&] { gate.open(); });
    s.reset();
    BOOST_TEST(waited.get() == "");
    BOOST_TEST(read.get() == "");
    BOOST_TEST(shown.get() == "");
  }
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_tensor_does_not_wait_for_a_longer_op_called_before) {
  Gate gate;
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  const Tensor late = call_on(s, "cpu0", "gate");
  // More than windows may be in flight.
  for (int i = 0; i < 20; ++i) {
    const Tensor y = call_on(s, "cpu1", "count");
    y.wait();
    BOOST_TEST(y.read<float>().size() == 1U);
  }
  BOOST_TEST(!gate.is_passed());
  gate.open();
  late.wait();
  BOOST_TEST(gate.is_passed());
}

BOOST_AUTO_TEST_CASE(a_tensor_is_read_while_ops_called_together_with_it_run) {
  Gate gate;
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  KernelState::counted = 0;
  // So many calls that those after the first are handed out together.
  std::vector<Tensor> counts;
  for (int i = 0; i < 1'000; ++i) {
    counts.push_back(call_on(s, "cpu1", "count"));
    if (i == 500) call_on(s, "cpu0", "gate");
  }
  BOOST_TEST(counts.back().read<float>()[0] <= 1'000);
  BOOST_TEST(!gate.is_passed());
  gate.open();
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_device_waits_for_all_of_its_ops_and_for_no_other_device) {
  Gate gate;
  Session s(testing::session_machine(), {.ops = testing::session_ops()});
  KernelState::counted = 0;
  call_on(s, "cpu0", "gate");
  for (int i = 0; i < 1'000; ++i) call_on(s, "cpu1", "count");
  s.wait("cpu1");
  BOOST_TEST(KernelState::counted == 1'000);
  BOOST_TEST(!gate.is_passed());
  gate.open();
  s.wait("cpu0");
  BOOST_TEST(gate.is_passed());
}

BOOST_AUTO_TEST_CASE(a_copy_has_been_made_when_its_transfer_is_over) {
  Session s(testing::session_machine(), {.mode = Mode::simulate});
  const Tensor x = s.zeros({1'000'000});
  const Duration makespan = s.measure("copy", [&] {
                               call_on(s, "cpu0", "sleep", {{"duration", Duration(10s)}});
                               x.to("mem1").wait();
                               call_on(s, "cpu1", "sleep", {{"duration", Duration(9998ms)}});
                             }).makespan;
  BOOST_TEST((makespan == Duration(10s) + Duration(2ms)));  // 4 MB at 1 GB/s
}

BOOST_AUTO_TEST_CASE(virtual_time_passes_until_the_tensor_has_been_made_and_no_longer) {
  BOOST_TEST((makespan_with([](Session&, const Tensor& y) { y.wait(); }) == Duration(10500ms)));
}

BOOST_AUTO_TEST_CASE(virtual_time_passes_until_the_device_is_done_and_no_longer) {
  BOOST_TEST(
      (makespan_with([](Session& s, const Tensor&) { s.wait("cpu1"); }) == Duration(10500ms)));
  BOOST_TEST((makespan_with([](Session& s, const Tensor&) { s.wait_all(); }) == Duration(19500ms)));
}

BOOST_AUTO_TEST_CASE(calls_before_a_wait_begin_before_virtual_time_passes) {
  Session s(testing::session_machine(), {.mode = Mode::simulate});
  const Duration makespan =
      s.measure("sleeps", [&] {
         const Tensor y = call_on(s, "cpu1", "sleep", {{"duration", Duration(1s)}});
         call_on(s, "cpu0", "sleep", {{"duration", Duration(2s)}});
         y.wait();
         const Tensor z = call_on(s, "cpu1", "sleep", {{"duration", Duration(3s)}});
         call_on(s, "cpu0", "sleep", {{"duration", Duration(3s)}});
         z.wait();
       }).makespan;
  BOOST_TEST((makespan == Duration(5s)));
}

BOOST_AUTO_TEST_CASE(a_wait_for_a_device_that_is_not_there_says_which_there_are) {
  Session s(testing::session_machine());
  const int line = __LINE__ + 1;
  testing::check_error([&] { s.wait("gpu7"); }, {"'gpu7'", "cpu0, cpu1"}, "session_waits_test.cpp",
                       line);
}

BOOST_AUTO_TEST_SUITE_END()
