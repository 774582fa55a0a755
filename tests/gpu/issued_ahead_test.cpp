// Work that is issued ahead: between dependent ops, and from an op to the copy of its result, the
// host neither waits for the GPU nor carries the news that something is done.
#include "actors/runner.hpp"
#include "tests/gpu/gpu_fixture.hpp"
#include "tests/support/small_graph.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(issued_ahead)
namespace {

using namespace testing;

const DeviceId cpu{0};
const DeviceId gpu{1};
const MemoryId host{0};

// What the ops "begin" and "end" do between which no thread may wait that gives a GPU work.
struct Region {
  static inline std::int64_t round_trips = 0;

  static void begin() {
    StandIn::find()->set("round_trips", 0);
    StandIn::find()->begin_no_wait();
  }
  static void end() {
    StandIn::find()->end_no_wait();
    round_trips = StandIn::find()->get("round_trips");
  }
};

const OpRegistry& ops() {
  static const OpRegistry registry = [] {
    OpRegistry kinds = builtin_ops();
    const auto one = [](const OpSignature&) { return TensorType{DType::f64, Shape{1}}; };
    kinds.add({.name = "begin", .type = one, .cpu = [](const CpuCall& call) {
                 *call.output.as<double>() = 1;
                 Region::begin();
               }});
    kinds.add({.name = "end", .inputs = {0, 64}, .type = one, .cpu = [](const CpuCall& call) {
                 *call.output.as<double>() = 1;
                 Region::end();
               }});
    return kinds;
  }();
  return registry;
}

// begin (cpu0), wait, late (gpu0) → x → … → copy → end (cpu0)
//
// "late" takes so long that all of the rest has been issued when it is done. Else work is found to
// be done already when what depends on it is issued: nothing orders the two on the GPU then.
struct RegionGraph : SmallGraph {
  RegionGraph() {
    graph = Graph(ops());
    op("begin", "begin", {}, on(cpu));
    const OpId late =
        op("late", "sleep", {}, on(gpu), {{"duration", Duration{std::chrono::milliseconds(500)}}});
    x = op("x", "reshape", {late}, on(gpu), {{"shape", Integers{1, 1}}});
  }

  OpId product(std::string name, OpId a, OpId b) {
    return op(std::move(name), "matmul", {a, b}, on(gpu));
  }
  OpId to_host(std::string name, OpId a) { return copy(std::move(name), a, to(host)); }

  OpId x;
};

// Runs the graph twice, so that all memory is there in the second scenario, and returns how many
// reads of the GPU's memory only the host had ordered. Checks that it finished.
std::int64_t round_trips(RegionGraph& g, std::vector<OpId> last, const Machine& machine) {
  g.op("end", "end", std::move(last), on(cpu));
  Scenario scenario = g.everything();
  scenario.steps.insert(scenario.steps.begin() + 1, Step{});  // a wait
  const std::vector<Scenario> scenarios(2, scenario);
  const Report report = Run(machine, g.graph, scenarios, {.verify = false}).perform();
  for (const ScenarioReport& s : report.scenarios)
    BOOST_TEST((s.outcome == Outcome::done), s.error);
  return Region::round_trips;
}

// x → run[0] → … → run[49] → copy
std::int64_t chain(const Machine& machine) {
  RegionGraph g;
  OpId last = g.x;
  for (int i = 0; i < 50; ++i) last = g.product("run" + std::to_string(i), last, g.x);
  return round_trips(g, {g.to_host("copy", last)}, machine);
}

// x → run[i] → copy[i] for all i: copies beside the ops after.
std::int64_t run_and_copy(const Machine& machine) {
  RegionGraph g;
  std::vector<OpId> copies;
  for (int i = 0; i < 20; ++i) {
    const OpId run = g.product("run" + std::to_string(i), g.x, g.x);
    copies.push_back(g.to_host("copy" + std::to_string(i), run));
  }
  return round_trips(g, copies, machine);
}

// x → slow → copy, and x → run[i] → copy[i] for all i, whose ops are done long before the slow one.
std::int64_t copies_after_a_slow_one(const Machine& machine) {
  RegionGraph g;
  const OpId slow = g.op("slow", "sleep", {g.x}, on(gpu),
                         {{"duration", Duration{std::chrono::milliseconds(150)}}});
  std::vector<OpId> copies{g.to_host("slow_copy", slow)};
  for (int i = 0; i < 20; ++i) {
    const OpId run = g.product("run" + std::to_string(i), g.x, g.x);
    copies.push_back(g.to_host("copy" + std::to_string(i), run));
  }
  return round_trips(g, copies, machine);
}

// x → run[0] → … → run[9] → copy, and f[0] → … → f[7] on the CPU, with room for three of these.
std::int64_t beside_a_full_memory(Machine machine) {
  RegionGraph g;
  OpId last = g.x;
  for (int i = 0; i < 10; ++i) last = g.product("run" + std::to_string(i), last, g.x);
  const OpId copied = g.to_host("copy", last);
  OpId f = OpId{0};
  for (int i = 0; i < 8; ++i) f = g.op("f" + std::to_string(i), "relu", {f}, on(cpu));
  machine.memories[host.index()].size_bytes = 5 * sizeof(double);
  return round_trips(g, {copied, f}, machine);
}

// a[i], b[i] → a[i+1], b[i+1]: two streams that wait for each other.
std::int64_t crossing_streams(const Machine& machine) {
  RegionGraph g;
  OpId a = g.x;
  OpId b = g.x;
  for (int i = 0; i < 25; ++i) {
    const OpId next = g.product("a" + std::to_string(i), a, b);
    b = g.product("b" + std::to_string(i), b, a);
    a = next;
  }
  return round_trips(g, {g.to_host("copy_a", a), g.to_host("copy_b", b)}, machine);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_chain_of_ops_is_issued_without_a_wait_of_the_host,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  BOOST_TEST(chain(gpu_machine(1)) == 0);
}

BOOST_AUTO_TEST_CASE(two_streams_wait_for_each_other_without_the_host,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  BOOST_TEST(crossing_streams(gpu_machine(1, 2)) == 0);
}

BOOST_AUTO_TEST_CASE(a_copy_begins_after_its_op_without_a_wait_of_the_host,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  BOOST_TEST(run_and_copy(gpu_machine(1)) == 0);
  BOOST_TEST(run_and_copy(gpu_machine(1, 3)) == 0);
  BOOST_TEST(copies_after_a_slow_one(gpu_machine(1, 2)) == 0);
}

BOOST_AUTO_TEST_CASE(ops_that_wait_for_no_room_are_issued_ahead_beside_those_that_do,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  BOOST_TEST(beside_a_full_memory(gpu_machine(1)) == 0);
}

// Shows that the tests above can fail.
BOOST_AUTO_TEST_CASE(with_an_issue_depth_of_1_the_host_carries_the_news,
                     *boost::unit_test::precondition(on_stand_in)) {
  const StandInFixture fixture;
  BOOST_TEST(copies_after_a_slow_one(gpu_machine(1, 2, 1)) > 0);
  BOOST_TEST(crossing_streams(gpu_machine(1, 2, 1)) > 0);
  BOOST_TEST(fixture.failures().find("round trip") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
