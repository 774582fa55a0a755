#include "core/plan/planner.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(results)
namespace {

using testing::on;
using testing::plan_by_rates;
using testing::SmallGraph;
using testing::to;

constexpr DeviceId dev0{0};

// dev0 and dev1 with a memory each, 1 ns a byte and 1 µs of latency between them.
Machine pair() {
  return testing::two_devices({.latency = std::chrono::microseconds(1)});
}

// x ─┬─ y
//    └─ copy (to dev1's memory)
BOOST_AUTO_TEST_CASE(results_that_nothing_reads_are_kept) {
  SmallGraph g;
  const OpId x = g.work("x", 100, {}, on(dev0));
  const OpId y = g.work("y", 10, {x}, on(dev0));
  const OpId copy = g.copy("copy", x, to(MemoryId{1}));
  const Plan plan = plan_by_rates(g.graph, pair(), g.everything(), {});
  BOOST_REQUIRE(plan.results.size() == 2U);
  BOOST_TEST((plan.results[0].op == y));
  BOOST_TEST((plan.results[1].op == copy));
  for (const Plan::Result& r : plan.results) {
    BOOST_TEST(plan.replicas[r.replica.index()].readers == 1U);
  }
  BOOST_TEST((plan.replicas[plan.results[1].replica.index()].memory == MemoryId{1}));
}

// x ── y ── z, 800 bytes each: together a quarter of 9,600 bytes
BOOST_AUTO_TEST_CASE(every_result_is_kept_where_all_take_a_quarter_of_the_memory) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(dev0), 800);
  const OpId y = g.work("y", 1, {x}, on(dev0), 800);
  g.work("z", 1, {y}, on(dev0), 800);
  Machine machine = pair();
  const PlanOptions options{.compare_results = true};
  machine.memories[0].size_bytes = 9600;
  const Plan all = plan_by_rates(g.graph, machine, g.everything(), options);
  BOOST_TEST(all.results.size() == 3U);
  BOOST_TEST(all.replicas[0].readers == 2U);
  for (const Plan::Result& r : all.results) {
    BOOST_TEST(r.is_kept);
    BOOST_TEST(!all.replicas[r.replica.index()].leaves_digest);
  }
  machine.memories[0].size_bytes = 9599;
  const Plan last = plan_by_rates(g.graph, machine, g.everything(), options);
  BOOST_REQUIRE(last.results.size() == 3U);
  for (const Plan::Result& r : last.results) {
    const bool is_last = r.op == OpId{2};
    BOOST_TEST(r.is_kept == is_last);
    BOOST_TEST(last.replicas[r.replica.index()].readers == 1U);
    BOOST_TEST(last.replicas[r.replica.index()].leaves_digest == !is_last);
  }
}

BOOST_AUTO_TEST_CASE(no_digest_is_taken_where_results_are_not_compared) {
  SmallGraph g;
  const OpId x = g.work("x", 1, {}, on(dev0), 800);
  g.work("y", 1, {x}, on(dev0), 800);
  const Plan plan = plan_by_rates(g.graph, pair(), g.everything(), {});
  BOOST_TEST(plan.results.size() == 1U);
  for (const ReplicaSpec& r : plan.replicas) BOOST_TEST(!r.leaves_digest);
}

// a ─── b ─┬─ c    two of 64 bytes at once, and c of another type, which is kept
//          └──┴─ d
BOOST_AUTO_TEST_CASE(buffers_are_the_tensors_in_ram_at_once_in_graph_order) {
  SmallGraph g;
  const OpId a = g.work("a", 1, {}, on(dev0), 64);
  const OpId b = g.work("b", 1, {a}, on(dev0), 64);
  const OpId c = g.work("c", 1, {b}, on(dev0), 24);
  g.work("d", 1, {b, c}, on(dev0), 64);
  const PlanOptions options{.ram_bytes = 1 << 20};
  const Plan plan = plan_by_rates(g.graph, pair(), g.everything(), options);
  BOOST_REQUIRE(g.graph.types().size() == 2U);
  // a and b are held together, then b and d; never three.
  BOOST_TEST(plan.buffers == (std::vector<std::uint64_t>{2, 1}));
}

// x ─── y of the same type: x needs no buffer where its values are in memory already.
BOOST_AUTO_TEST_CASE(values_that_are_in_memory_already_need_no_buffer) {
  class InMemory final : public ValueSource {
   public:
    explicit InMemory(bool is_usable) : is_usable_(is_usable) {}
    std::shared_ptr<const std::byte> existing() const override {
      static const std::byte values[8] = {};
      if (!is_usable_) return nullptr;
      return {std::shared_ptr<const void>(), values};
    }
    void read(std::uint64_t, std::span<std::byte>) const override {}

   private:
    bool is_usable_;
  };
  const auto buffers = [](bool is_usable, DeviceKind kind) {
    SmallGraph g;
    const std::shared_ptr<const ValueSource> values = std::make_shared<InMemory>(is_usable);
    const OpId x = g.op("x", "load", {}, on(dev0), {{"values", values}}, testing::of_bytes(8));
    g.op("y", "relu", {x}, on(dev0));
    Machine machine = pair();
    machine.devices[0].kind = kind;
    return plan_by_rates(g.graph, machine, g.everything(), {.ram_bytes = 1 << 20}).buffers;
  };
  BOOST_TEST(buffers(true, DeviceKind::cpu) == std::vector<std::uint64_t>{1});
  BOOST_TEST(buffers(false, DeviceKind::cpu) == std::vector<std::uint64_t>{2});
  BOOST_TEST(buffers(true, DeviceKind::gpu) == std::vector<std::uint64_t>{2});
}

// a ─── b ─── c ─── d
BOOST_AUTO_TEST_CASE(
    a_result_that_is_kept_for_comparison_needs_its_buffer_after_its_last_reader_too) {
  SmallGraph g;
  OpId last = g.work("a", 1, {}, on(dev0), 64);
  for (const char* name : {"b", "c", "d"}) last = g.work(name, 1, {last}, on(dev0), 64);
  PlanOptions options{.ram_bytes = 1 << 20};
  BOOST_TEST(plan_by_rates(g.graph, pair(), g.everything(), options).buffers ==
             std::vector<std::uint64_t>{2});
  options.compare_results = true;
  BOOST_TEST(plan_by_rates(g.graph, pair(), g.everything(), options).buffers ==
             std::vector<std::uint64_t>{4});
}

// Four results of one type that nothing reads are kept; with copies, the copies are kept.
BOOST_AUTO_TEST_CASE(results_that_are_kept_and_replicas_in_other_memories_need_buffers_too) {
  SmallGraph g;
  for (int i = 0; i < 4; ++i) g.work("x", 1, {}, on(dev0));
  const PlanOptions options{.ram_bytes = 1 << 20};
  Machine machine = pair();
  BOOST_TEST(plan_by_rates(g.graph, machine, g.everything(), options).buffers ==
             std::vector<std::uint64_t>{4});
  for (std::size_t i = 0; i < 4; ++i) g.copy("copy", OpId::at(i), to(MemoryId{1}));
  // Each result is freed after it has been copied, so only one is held together with its copy.
  BOOST_TEST(plan_by_rates(g.graph, machine, g.everything(), options).buffers ==
             std::vector<std::uint64_t>{5});
  machine.memories[1].kind = MemoryKind::storage;
  BOOST_TEST(plan_by_rates(g.graph, machine, g.everything(), options).buffers ==
             std::vector<std::uint64_t>{4});
  BOOST_TEST(plan_by_rates(g.graph, machine, g.everything(), {}).buffers.empty());  // simulated
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
