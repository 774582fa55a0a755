// What a session on nodes promises, on nodes under virtual time.
#include "actors/nodes/rehearsed_nodes.hpp"
#include "actors/tensor_ops.hpp"
#include "actors/waiting.hpp"
#include "core/base/error.hpp"
#include "tests/support/virtual_session.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(virtual_sessions)
namespace {

using testing::session_node;
using testing::VirtualNodes;
using testing::VirtualSession;

std::atomic<int> counted = 0;

// The built-in kinds, and: count, which takes a millisecond and counts the ops; throw_this, which
// does.
const OpRegistry& ops() {
  static const OpRegistry registry = [] {
    OpRegistry kinds = builtin_ops();
    const auto one = [](const OpSignature&) { return TensorType{DType::f32, Shape{1}}; };
    OpKind count{.name = "count", .type = one};
    count.work = [](const OpSignature&, const TensorType&) { return Work{.flops = 1e6}; };
    count.cpu = [](const CpuCall& call) {
      *call.output.as<float>() = static_cast<float>(++counted);
    };
    kinds.add(std::move(count));
    OpKind throwing{.name = "throw_this", .type = one};
    throwing.cpu = [](const CpuCall&) { throw std::runtime_error("the kernel has no paper"); };
    kinds.add(std::move(throwing));
    return kinds;
  }();
  return registry;
}

std::vector<Machine> two_nodes(std::uint64_t memory_bytes = 1 << 20) {
  return {session_node(1, memory_bytes), session_node(1, memory_bytes)};
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

BOOST_AUTO_TEST_CASE(a_wait_for_one_tensor_ends_before_the_calls_behind_it) {
  VirtualSession session(1, two_nodes(), ops());
  const DeviceScope on = session->on("n1.cpu0");
  int when_made = 0;
  int when_read = 0;
  const auto work = [&] {
    counted = 0;
    std::vector<Tensor> made;
    for (int i = 0; i < 20; ++i) made.push_back(session->call("count", {}));
    made[4].wait();
    when_made = counted;
    BOOST_TEST(made[4].read<float>()[0] == 5);
    when_read = counted;
    session->wait("n1.cpu0");
    BOOST_TEST(counted == 20);
  };
  session->measure("waits", work);  // only what is measured takes time
  BOOST_TEST(when_made >= 5);
  BOOST_TEST(when_made < 8);
  BOOST_TEST(when_read < 8);
}

BOOST_AUTO_TEST_CASE(a_watched_op_stands_in_the_report_as_the_others_do) {
  VirtualSession session(1, two_nodes(), ops());
  const DeviceScope on = session->on("n1.cpu0");
  const ScenarioReport& report = session->measure("waits", [&] {
    std::vector<Tensor> made;
    for (int i = 0; i < 5; ++i) made.push_back(session->call("count", {}));
    made[2].to("n0.mem0").wait();
  });
  BOOST_TEST(report.ops == 6U);
  BOOST_TEST(report.transfers == 2U);
  BOOST_TEST((report.makespan >= std::chrono::milliseconds(5)));
  BOOST_TEST((report.makespan < std::chrono::milliseconds(6)));
}

BOOST_AUTO_TEST_CASE(a_kernel_that_throws_on_a_node_is_named_with_the_line_of_its_call) {
  VirtualSession session(1, two_nodes(), ops());
  Tensor failed;
  int line = 0;
  {
    const DeviceScope on = session->on("n1.cpu0");
    line = __LINE__ + 1;
    failed = session->call("throw_this", {});
  }
  const std::string error = error_of([&] { failed.wait(); });
  BOOST_TEST(has(error, "the kernel has no paper"), error);
  BOOST_TEST(has(error, "n1.cpu0"), error);
  BOOST_TEST(has(error, "virtual_sessions_test.cpp:" + std::to_string(line)), error);
  BOOST_TEST(has(error_of([&] { session->uniform({1}); }), "the kernel has no paper"));
}

// The others close their connections, and that is what the session hears of.
BOOST_AUTO_TEST_CASE(a_lost_node_that_had_no_work_is_named) {
  VirtualSession session(
      1, {session_node(1, 1 << 20), session_node(1, 1 << 20), session_node(1, 1 << 20)});
  Tensor x = session->uniform({4}).to("n0.mem0");
  x.wait();
  session.nodes().kill(1, Duration{0}, true);
  const std::string error = error_of([&] {
    for (int i = 0; i < 1000; ++i) {
      x = x.to("n2.mem0").to("n0.mem0");
      x.wait();
    }
  });
  BOOST_TEST(has(error, "node n1 was lost"), error);
}

BOOST_AUTO_TEST_CASE(a_session_whose_nodes_are_cut_off_from_each_other_fails_and_names_them) {
  for (const bool is_busy : {false, true}) {
    BOOST_TEST_CONTEXT("busy: " << is_busy) {
      VirtualSession session(1, two_nodes());
      Tensor x = session->uniform({4}).to("n0.mem0");
      x.to("n1.mem0").wait();
      caf::actor_system& system = session.nodes().options().rehearsed->setup->system();
      session.nodes().disconnect(0, 1, Duration{0});
      for (int i = 0; i < 4 && !is_busy; ++i) let_pass(system);
      const std::string error = error_of([&] {
        for (int i = 0; i < 1000; ++i) {
          x = x.to("n1.mem0").to("n0.mem0");
          x.wait();
        }
      });
      BOOST_TEST(has(error, "could not reach node n"), error);
      BOOST_TEST(has(error, "; see that the network lets each node reach the others"), error);
      BOOST_TEST(error_of([&] { session->wait_all(); }).starts_with(error));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_session_whose_nodes_are_cut_off_before_its_first_call_fails_or_works) {
  VirtualSession session(1, two_nodes());
  session.nodes().disconnect(0, 1, Duration{0});
  const std::string error = error_of([&] {
    Tensor x = session->uniform({4}).to("n0.mem0");
    for (int i = 0; i < 1000; ++i) x = x.to("n1.mem0").to("n0.mem0");
    x.wait();
  });
  BOOST_TEST((error == "no error" || has(error, "could not reach node n")), error);
}

// Nothing was to run there, so nobody waits for anything of it.
BOOST_AUTO_TEST_CASE(every_call_after_the_loss_of_a_node_that_has_tensors_only_names_it) {
  VirtualSession session(1, two_nodes(), ops());
  const std::vector<float> values(16, 3.0F);
  Tensor given;
  {
    const DeviceScope on = session->on("n1.cpu0");
    given = session->tensor(values, {16});
    given.wait();
  }
  const DeviceScope on = session->on("n0.cpu0");
  session.nodes().kill(1, Duration{0}, true);
  caf::actor_system& system = session.nodes().options().rehearsed->setup->system();
  for (int i = 0; i < 1000 && error_of([&] { given.wait(); }) == "no error"; ++i) let_pass(system);
  const std::vector<std::function<void()>> calls{[&] { given.wait(); },
                                                 [&] { session->uniform({4}).wait(); },
                                                 [&] { session->tensor(values, {16}); },
                                                 [&] { given.read<float>(); },
                                                 [&] { session->wait_all(); },
                                                 [&] { session->wait("n0.cpu0"); }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string error = error_of(calls[i]);
    BOOST_TEST(has(error, "node n1 was lost"), i << ": " << error);
  }
}

// measure() gives what is in use new numbers, here and on the nodes. What is dropped while
// nodes are asked is freed by the new ones.
BOOST_AUTO_TEST_CASE(tensors_may_be_dropped_after_a_node_was_lost_in_measure) {
  VirtualSession session(1, two_nodes(), ops());
  std::vector<Tensor> kept;
  {
    const DeviceScope on = session->on("n1.cpu0");
    for (int i = 0; i < 6; ++i) kept.push_back(session->call("count", {}));
  }
  session->wait_all();
  kept.erase(kept.begin(), kept.begin() + 3);
  session->uniform({4}).wait();  // they are gone
  session.nodes().kill(1, Duration{0}, false);
  session.nodes().network().after(std::chrono::milliseconds(1), [&] { kept.pop_back(); });
  const std::string error = error_of([&] { session->measure("nothing", [] {}); });
  BOOST_TEST(kept.size() == 2U);
  BOOST_TEST(has(error, "node n1 was lost"), error);
  kept.clear();
  BOOST_TEST(error_of([&] { session->uniform({4}).wait(); }).starts_with(error));
}

BOOST_AUTO_TEST_CASE(a_read_that_finds_its_node_lost_says_what_later_calls_say) {
  VirtualSession session(1, two_nodes(), ops());
  const DeviceScope on = session->on("n1.cpu0");
  const Tensor given = session->tensor(std::vector<float>(16, 3.0F), {16});
  given.wait();
  session.nodes().kill(1, Duration{0}, false);
  const std::string error = error_of([&] { given.read<float>(); });
  BOOST_TEST(has(error, "node n1 was lost"), error);
  BOOST_TEST(error_of([&] { given.read<float>(); }).starts_with(error));
  BOOST_TEST(error_of([&] { session->wait_all(); }).starts_with(error));
}

BOOST_AUTO_TEST_CASE(no_session_begins_on_a_node_that_was_lost_since_it_was_connected) {
  VirtualNodes nodes(1, two_nodes(), ops(), {.nodes = 2}, VirtualSession::node_timeout);
  SessionHost host(ops());
  host.cluster = std::make_unique<Cluster>(*host.ops, nodes.options());
  host.machine = host.cluster->machine();
  nodes.kill(1, Duration{0}, false);
  caf::actor_system& system = nodes.options().rehearsed->setup->system();
  for (int i = 0; i < 1000 && !host.cluster->has_ever_lost_node(); ++i) let_pass(system);
  const std::string error =
      error_of([&] { SessionCore::session_on(std::move(host), Mode::rehearse, 1); });
  BOOST_TEST(has(error, "node n1 was lost"), error);
}

BOOST_AUTO_TEST_CASE(what_fits_no_memory_of_the_node_is_refused) {
  VirtualSession session(1, two_nodes(1 << 10), ops());
  const DeviceScope on = session->on("n1.cpu0");
  const std::string error = error_of([&] { session->uniform({1000}).wait(); });
  BOOST_TEST(has(error, "memory 'n1.mem0' has"), error);
}

// Far more than the memory of a node holds at once.
BOOST_AUTO_TEST_CASE(tensors_that_nobody_needs_make_room_on_their_node) {
  VirtualSession session(1, two_nodes(1 << 10), ops());
  const DeviceScope on = session->on("n1.cpu0");
  Tensor x = session->uniform({16});
  for (int i = 0; i < 500; ++i) x = axpy(-0.5, x, x).to(i % 2 == 0 ? "n0.mem0" : "n1.mem0");
  const std::vector<float> values(16, 3.0F);
  for (int i = 0; i < 100; ++i) x = x + session->tensor(values, {16});
  BOOST_TEST(x.read<float>().size() == 16U);
}

// With a KiB n1 holds a part of the copies. In the end, it has what the leader's store has.
BOOST_AUTO_TEST_CASE(copies_of_what_is_on_another_node_make_room_for_others) {
  const std::vector<Machine> machines{session_node(1, 1 << 20), session_node(1, 1 << 10)};
  VirtualSession session(1, machines, ops());
  std::vector<Tensor> kept;
  for (int i = 0; i < 40; ++i) kept.push_back(session->uniform({16}, i).to("n0.mem0"));
  session->wait_all();
  for (const Tensor& x : kept) {
    std::vector<float> there;
    {
      const DeviceScope on = session->on("n1.cpu0");
      for (int i = 0; i < 3; ++i) relu(x);  // which nobody reads
      there = (x + x).read<float>();
    }
    const DeviceScope on = session->on("n0.cpu0");
    BOOST_TEST(there == (x + x).read<float>(), boost::test_tools::per_element());
  }
  session->measure("nothing", [] {});
  BOOST_TEST(kept[39].read<float>().size() == 16U);
}

// A graph of a session lives for some 65,000 ops; then what is in use gets new numbers.
BOOST_AUTO_TEST_CASE(tensors_live_on_when_the_graph_begins_anew) {
  VirtualSession session(1, two_nodes(), ops());
  std::vector<Tensor> kept;
  for (int i = 0; i < 4; ++i) {
    kept.push_back(session->uniform({4}, i).to(i % 2 == 0 ? "n0.mem0" : "n1.mem0"));
  }
  const std::vector<float> before = kept[1].read<float>();
  const DeviceScope on = session->on("n1.cpu0");
  Tensor x = session->zeros({4});
  for (int i = 0; i < 80'000; ++i) x = x + kept[static_cast<std::size_t>(i % 4)];
  session->wait_all();
  BOOST_TEST(kept[1].read<float>() == before, boost::test_tools::per_element());
  BOOST_TEST((kept[1] + kept[1]).read<float>().size() == 4U);
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
