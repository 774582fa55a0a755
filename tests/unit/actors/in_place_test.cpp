// Ops that compute in place of an input, where nothing else may read that input any more.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "tests/unit/actors/runner_fixture.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(in_place_of_inputs)
namespace {

using testing::dev0;
using testing::on;
using testing::pair;
using testing::perform;
using testing::SmallGraph;

std::atomic<int> bumps_in_place = 0;
std::array<std::atomic<bool>, 2> is_gate_open;  // by number

// test_ops(); "bump", which adds 1 to its first input, in place if it may; and "gate", which ends
// when the one of its number is opened.
const OpRegistry& with_bump() {
  static const OpRegistry ops = [] {
    OpRegistry all = testing::test_ops();
    all.add({.name = "bump",
             .summary = "x + 1",
             .inputs = {1, 2},
             .in_place_of = 0,
             .type = [](const OpSignature& op) { return op.inputs[0]; },
             .cpu =
                 [](const CpuCall& call) {
                   const auto* x = call.inputs[0].as<double>();
                   auto* out = call.output.as<double>();
                   if (x == out) ++bumps_in_place;
                   for (std::int64_t i = 0; i < call.output.type.shape.elements(); ++i) {
                     out[i] = x[i] + 1;
                   }
                 }});
    all.add({.name = "gate",
             .summary = "waits",
             .attrs = {{.name = "number", .fallback = std::int64_t{0}}},
             .type =
                 [](const OpSignature&) {
                   return TensorType{DType::f64, {1}};
                 },
             .cpu =
                 [](const CpuCall& call) {
                   const auto number = call.attrs.get<std::int64_t>("number");
                   while (!is_gate_open[static_cast<std::size_t>(number)]) {
                     std::this_thread::sleep_for(std::chrono::milliseconds(1));
                   }
                 }});
    return all;
  }();
  return ops;
}

// How many bumps `work` makes in place, in a rehearsal on pair(): dev0 has two streams.
template <class F>
int in_place_of(const F& work) {
  bumps_in_place = 0;
  Session session(pair(), {.mode = Mode::rehearse, .ops = with_bump()});
  const DeviceScope where = session.on("dev0");
  work(session);
  return bumps_in_place;
}

Tensor bump(Session& session, const Tensor& x) {
  return session.call("bump", {x});
}

const std::vector<double> ones(1000, 1.0);
const std::vector<double> twos(1000, 2.0);

// x is 32 KiB; `length` bumps follow it.
SmallGraph chain(int length) {
  SmallGraph g;
  g.graph = Graph(with_bump());
  OpId last = g.op("x", "uniform", {}, on(dev0), {}, {DType::f64, {4096}});
  for (int i = 0; i < length; ++i) last = g.op("bump", "bump", {last}, on(dev0));
  return g;
}

// x ── bump ── … ── bump
BOOST_AUTO_TEST_CASE(an_op_computes_in_place_of_what_only_it_reads) {
  const int count = in_place_of([](Session& session) {
    Tensor x = session.tensor(ones, {1000});
    for (int i = 0; i < 100; ++i) x = bump(session, x);
    BOOST_TEST(x.read<double>() == std::vector<double>(1000, 101.0),
               boost::test_tools::per_element());
  });
  BOOST_TEST(count == 100);
}

// Opens all gates at its end, so that a failing test doesn't wait for ever.
struct OpenGates {
  OpenGates() = default;
  OpenGates(const OpenGates&) = delete;
  OpenGates& operator=(const OpenGates&) = delete;
  ~OpenGates() {
    for (std::atomic<bool>& is_open : is_gate_open) is_open = true;
  }
};

// x ─────────┬─ bump
// gate (dev0) ┘ , after gate (dev1), which keeps all windows from completing.
BOOST_AUTO_TEST_CASE(what_a_window_under_way_has_made_is_computed_in_place_of_by_a_later_one) {
  for (std::atomic<bool>& is_open : is_gate_open) is_open = false;
  Session session(pair(), {.ops = with_bump()});
  const OpenGates at_the_end;
  const auto gate_on = [&](const char* device, std::int64_t number) {
    const DeviceScope there = session.on(device);
    return session.call("gate", {}, {{"number", number}});
  };
  const Tensor first = gate_on("dev1", 1);
  const DeviceScope here = session.on("dev0");
  Tensor x = session.zeros({1000}, DType::f64);
  x.wait();
  bumps_in_place = 0;
  const Tensor y = session.call("bump", {x, gate_on("dev0", 0)});
  x = {};
  for (int i = 0; i < 2; ++i) session.zeros({1}).wait();  // the session has seen the handle go
  is_gate_open[0] = true;
  y.wait();
  BOOST_TEST(bumps_in_place == 1);
  is_gate_open[1] = true;
  BOOST_TEST(y.read<double>() == ones, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tensor_with_a_handle_keeps_its_values) {
  const int count = in_place_of([](Session& session) {
    const Tensor x = session.tensor(ones, {1000});
    const Tensor y = bump(session, x);
    BOOST_TEST(y.read<double>() == twos, boost::test_tools::per_element());
    BOOST_TEST(x.read<double>() == ones, boost::test_tools::per_element());
  });
  BOOST_TEST(count == 0);
}

// x ─┬─ bump
//    └─ relu, on the other stream
BOOST_AUTO_TEST_CASE(a_second_reader_that_is_not_done_forbids_it) {
  const int count = in_place_of([](Session& session) {
    Tensor x = session.tensor(ones, {1000});
    const Tensor y = bump(session, x);
    const Tensor z = relu(x);
    x = {};
    BOOST_TEST(z.read<double>() == ones, boost::test_tools::per_element());
    BOOST_TEST(y.read<double>() == twos, boost::test_tools::per_element());
  });
  BOOST_TEST(count == 0);
}

// x ─── bump ─┬─ once
//    └────────┘
BOOST_AUTO_TEST_CASE(an_op_that_reads_a_tensor_twice_is_two_readers) {
  const int count = in_place_of([](Session& session) {
    Tensor x = session.tensor(ones, {1000});
    x = x + x;
    BOOST_TEST(x.read<double>() == twos, boost::test_tools::per_element());
  });
  BOOST_TEST(count == 0);
}

// x ─┬─ bump on dev0
//    └─ copy to the memory of dev1
BOOST_AUTO_TEST_CASE(an_outgoing_copy_forbids_it) {
  const int count = in_place_of([](Session& session) {
    Tensor x = session.tensor(ones, {1000});
    const Tensor copied = x.to("b");
    const Tensor y = bump(session, x);
    x = {};
    BOOST_TEST(copied.read<double>() == ones, boost::test_tools::per_element());
    BOOST_TEST(y.read<double>() == twos, boost::test_tools::per_element());
  });
  BOOST_TEST(count == 0);
}

BOOST_AUTO_TEST_CASE(a_result_that_is_kept_to_be_compared_forbids_it) {
  const SmallGraph g = chain(4);
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    for (const bool verify : {false, true}) {
      bumps_in_place = 0;
      const Report report = perform(g, {g.everything()}, {.mode = mode, .verify = verify});
      BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
      if (verify) BOOST_TEST((report.scenarios[0].verified == true));
      BOOST_TEST(bumps_in_place == (verify ? 0 : 4));
    }
  }
}

// The memory holds two of the tensors, so results leave digests of their values.
BOOST_AUTO_TEST_CASE(a_result_that_leaves_a_digest_forbids_it) {
  const SmallGraph g = chain(8);
  Machine machine = pair();
  machine.memories[0].size_bytes = 64 << 10;
  for (const Mode mode : {Mode::rehearse, Mode::run}) {
    bumps_in_place = 0;
    const Report report = perform(g, {g.everything()}, {.mode = mode}, machine);
    BOOST_TEST((report.scenarios[0].outcome == Outcome::done));
    BOOST_TEST((report.scenarios[0].verified == true), report.scenarios[0].mismatch);
    BOOST_TEST(bumps_in_place == 0);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
