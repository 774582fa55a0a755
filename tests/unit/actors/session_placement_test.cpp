// Where a session places ops whose user doesn't say where.
#include "tests/unit/actors/session_fixture.hpp"

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

using namespace troupe;
using namespace std::chrono_literals;
using testing::KernelState;

BOOST_AUTO_TEST_SUITE(session_placement)
namespace {

// The kinds of the fixture, and: long_gate is a gate that is expected to take 10 s, short_gate one
// that is expected to take no time; step counts, and is expected to take 100 ms.
OpRegistry gates_and_steps() {
  OpRegistry ops = testing::session_ops();
  OpKind gate = ops[ops.find("gate")];
  gate.name = "long_gate";
  gate.work = [](const OpSignature&, const TensorType&) { return Work{.flops = 1e10}; };
  ops.add(gate);
  gate.name = "short_gate";
  gate.work = [](const OpSignature&, const TensorType&) { return Work{}; };
  ops.add(gate);
  OpKind step = ops[ops.find("count")];
  step.name = "step";
  step.work = [](const OpSignature&, const TensorType&) { return Work{.flops = 1e8}; };
  step.cpu = [](const CpuCall& call) {
    std::this_thread::sleep_for(2ms);  // long beside planning a window
    *call.output.as<float>() = static_cast<float>(++KernelState::counted);
    KernelState::counted.notify_all();
  };
  ops.add(step);
  return ops;
}

// Gates are closed while it lives.
struct ClosedGates {
  ClosedGates() {
    KernelState::is_gate_open = false;
    KernelState::has_passed_gate = false;
    KernelState::counted = 0;
  }
  ~ClosedGates() { KernelState::is_gate_open = true; }
};

std::vector<Tensor> call_steps(Session& s, int count) {
  std::vector<Tensor> steps;
  steps.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) steps.push_back(s.call("step", {}));
  return steps;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_scope_that_was_moved_ends_with_the_object_that_has_it) {
  Session s(testing::session_machine(), {.mode = Mode::simulate});
  const auto work_of_cpu1 = [&] {
    return s.measure("relu", [&] { relu(s.zeros({64})); }).resources[1].busy;
  };
  std::optional<DeviceScope> on = s.on("cpu0");
  const DeviceScope outer = std::move(*on);
  on.reset();
  BOOST_TEST((work_of_cpu1() == Duration{0}));
  on.emplace(s.on("cpu1"));
  BOOST_TEST((work_of_cpu1() > Duration{0}));
  on.reset();
  BOOST_TEST((work_of_cpu1() == Duration{0}));
}

BOOST_AUTO_TEST_CASE(scopes_may_end_in_any_order) {
  Session s(testing::session_machine(), {.mode = Mode::simulate});
  const auto is_on = [&](const std::string& device) {
    const ScenarioReport& report = s.measure("relu", [&] { relu(s.zeros({64})); });
    const std::size_t used = device == "cpu0" ? 0 : 1;
    return report.resources[used].busy > Duration{0} &&
           report.resources[1 - used].busy == Duration{0};
  };
  std::optional<DeviceScope> outer = s.on("cpu1");
  std::optional<DeviceScope> inner = s.on("cpu0");
  outer.reset();
  BOOST_TEST(is_on("cpu0"));
  const DeviceScope last = s.on("cpu1");
  inner.reset();
  BOOST_TEST(is_on("cpu1"));
}

// AddressSanitizer sees it end with the program, after what belongs to the thread.
BOOST_AUTO_TEST_CASE(a_scope_may_outlive_its_session_and_what_belongs_to_its_thread) {
  static std::optional<DeviceScope> kept;
  const Session s(testing::session_machine(), {.mode = Mode::simulate});
  kept.emplace(s.on("cpu0"));
  BOOST_TEST(kept.has_value());
}

// A step on the device of the gate would wait until the gate opens by itself. The window of the
// gate keeps those behind it from ending.
BOOST_AUTO_TEST_CASE(ops_keep_off_a_device_that_has_much_left_of_an_earlier_window) {
  const ClosedGates gates;
  Session s(testing::session_machine(), {.ops = gates_and_steps()});
  {
    const DeviceScope on = s.on("cpu0");
    s.call("long_gate", {});
  }
  {
    const DeviceScope on = s.on("cpu1");
    s.call("count", {}).wait();  // now the gate has been handed out
  }
  for (const Tensor& step : call_steps(s, 40)) step.wait();
  BOOST_TEST(!KernelState::has_passed_gate);
  BOOST_TEST(KernelState::counted == 41);
  KernelState::is_gate_open = true;
}

// Of 200 steps that are called together, the device that turns out to be slow gets those of two
// windows at most, and not half.
BOOST_AUTO_TEST_CASE(a_device_that_is_slower_than_expected_gets_fewer_ops) {
  const ClosedGates gates;
  Session s(testing::session_machine(), {.ops = gates_and_steps()});
  s.call("short_gate", {});
  const std::vector<Tensor> steps = call_steps(s, 200);
  std::thread all([&] { s.wait_all(); });
  for (int n = 0; n < 120; n = KernelState::counted) KernelState::counted.wait(n);
  BOOST_TEST(!KernelState::has_passed_gate);
  KernelState::is_gate_open = true;
  all.join();
  BOOST_TEST(KernelState::counted == 200);
}

BOOST_AUTO_TEST_SUITE_END()
