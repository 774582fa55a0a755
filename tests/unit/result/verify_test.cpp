#include "core/result/verify.hpp"

#include "core/plan/planner.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <limits>
#include <optional>

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using testing::plan_by_rates;
using testing::SmallGraph;
using testing::SmallMachine;

// x ── y ── z, kept in a store as "work" would make them: filled with the number of inputs.
struct Kept {
  Kept() {
    machine.device("d", machine.memory("m"));
    const OpId x = g.work("x", 1, {}, {}, 80);
    const OpId y = g.work("y", 1, {x}, {}, 80);
    g.work("z", 1, {y, y}, {}, 80);
    plan = plan_by_rates(g.graph, machine.machine, g.everything(), {.compare_results = true});
    store.emplace(machine.machine, MemoryStore::Backing::buffers);
    results.emplace(*store);
    store->install(plan.replicas, g.graph.types());
    for (const Plan::Result& r : plan.results) {
      store->acquire(r.replica);
      for (std::size_t i = 0; i < 10; ++i) values(r.replica)[i] = r.op.value;
    }
  }
  double* values(ReplicaId r) { return reinterpret_cast<double*>(store->data(r)); }

  SmallGraph g;
  SmallMachine machine;
  Plan plan;
  std::optional<MemoryStore> store;
  std::optional<StoredResults> results;
};

constexpr auto go_on = [] { return true; };

// The same in a memory of which the results take more than a quarter: x and y are freed, z is kept.
struct Gone : Kept {
  Gone() {
    machine.machine.memories[0].size_bytes = 800;
    plan = plan_by_rates(g.graph, machine.machine, g.everything(), {.compare_results = true});
    store->clear();
    store->install(plan.replicas, g.graph.types());
    for (const Plan::Result& r : plan.results) {
      store->acquire(r.replica);
      for (std::size_t i = 0; i < 10; ++i) values(r.replica)[i] = r.op.value;
    }
  }
  void release_all() {
    for (const Plan::Result& r : plan.results) {
      const std::uint32_t readers = plan.replicas[r.replica.index()].readers;
      for (std::uint32_t n = 0; n < readers && !r.is_kept; ++n) store->release(r.replica);
    }
  }
};

BOOST_FIXTURE_TEST_SUITE(verification, Kept)

BOOST_AUTO_TEST_CASE(equal_results_are_equal) {
  BOOST_TEST(plan.results.size() == 3U);
  const Verdict verdict = verify(g.graph, plan, *results, Comparison::bits, 1, go_on);
  BOOST_TEST(verdict.equal);
  BOOST_TEST(verdict.complete);
  BOOST_TEST(verdict.mismatch.empty());
}

BOOST_AUTO_TEST_CASE(the_first_tensor_and_element_that_differ_are_named) {
  values(plan.results[1].replica)[7] = 1.5;
  values(plan.results[2].replica)[2] = 1.5;
  const Verdict verdict = verify(g.graph, plan, *results, Comparison::bits, 1, go_on);
  BOOST_TEST(!verdict.equal);
  BOOST_TEST(verdict.mismatch == "'y' differs from the serial execution, first in element 7");
}

// Equal as numbers, not as bits.
BOOST_AUTO_TEST_CASE(a_negative_zero_is_not_a_zero) {
  values(plan.results[0].replica)[0] = -0.0;
  BOOST_TEST(!verify(g.graph, plan, *results, Comparison::bits, 1, go_on).equal);
}

BOOST_AUTO_TEST_CASE(results_of_a_gpu_may_differ_by_roundings_but_not_by_more) {
  values(plan.results[1].replica)[7] = 1 + 0.9e-12;
  const auto equal = [&](Comparison comparison) {
    return verify(g.graph, plan, *results, comparison, 1, go_on).equal;
  };
  BOOST_TEST(!equal(Comparison::bits));
  BOOST_TEST(equal(Comparison::nearness));
  values(plan.results[1].replica)[7] = 1 + 1.2e-12;
  const Verdict verdict = verify(g.graph, plan, *results, Comparison::nearness, 1, go_on);
  BOOST_TEST(!verdict.equal);
  BOOST_TEST(verdict.mismatch ==
             "'y' is not near the serial execution, first in element 7 (sums that cancel may be "
             "further off; --no-verify compares nothing)");
}

BOOST_AUTO_TEST_CASE(only_results_in_float32_may_differ_by_what_tf32_rounds) {
  BOOST_TEST(near_enough(Comparison::bits, DType::f32) == 0);
  BOOST_TEST(near_enough(Comparison::nearness, DType::f32) == 1e-5);
  BOOST_TEST(near_enough(Comparison::nearness_tf32, DType::f32) == 1.0 / 256);
  BOOST_TEST(near_enough(Comparison::nearness_tf32, DType::f64) == 1e-12);
  BOOST_TEST(near_enough(Comparison::nearness_tf32, DType::i64) == 0);
  values(plan.results[1].replica)[7] = 1 + 1.2e-12;
  BOOST_TEST(!verify(g.graph, plan, *results, Comparison::nearness_tf32, 1, go_on).equal);
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_near_no_number) {
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    values(plan.results[2].replica)[3] = value;
    BOOST_TEST(!verify(g.graph, plan, *results, Comparison::nearness, 1, go_on).equal);
  }
}

BOOST_AUTO_TEST_CASE(a_negative_zero_is_near_a_zero) {
  values(plan.results[0].replica)[0] = -0.0;
  BOOST_TEST(verify(g.graph, plan, *results, Comparison::nearness, 1, go_on).equal);
}

BOOST_AUTO_TEST_CASE(a_comparison_that_is_ended_is_not_complete) {
  int asked = 0;
  const Verdict verdict =
      verify(g.graph, plan, *results, Comparison::bits, 1, [&] { return ++asked < 2; });
  BOOST_TEST(!verdict.complete);
  BOOST_TEST(verdict.equal);
  BOOST_TEST(asked == 2);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(verification_by_digests, Gone)

BOOST_AUTO_TEST_CASE(freed_results_are_equal_if_their_digests_are) {
  release_all();
  BOOST_TEST(plan.results.size() == 3U);
  BOOST_TEST(!store->held(plan.results[0].replica));
  BOOST_TEST(!store->held(plan.results[1].replica));
  const Verdict verdict = verify(g.graph, plan, *results, Comparison::bits, 1, go_on);
  BOOST_TEST(verdict.equal);
  BOOST_TEST(verdict.complete);
}

BOOST_AUTO_TEST_CASE(without_digests_only_results_that_are_kept_are_compared) {
  plan = plan_by_rates(g.graph, machine.machine, g.everything(),
                       {.compare_results = true, .compare_digests = false});
  BOOST_TEST_REQUIRE(plan.results.size() == 1U);
  BOOST_TEST(g.graph.name(plan.results[0].op) == "z");
  BOOST_TEST(plan.results[0].is_kept);
}

BOOST_AUTO_TEST_CASE(a_freed_result_that_was_wrong_is_named) {
  values(plan.results[1].replica)[9] = 1.5;
  release_all();
  const Verdict verdict = verify(g.graph, plan, *results, Comparison::bits, 1, go_on);
  BOOST_TEST(!verdict.equal);
  BOOST_TEST(verdict.mismatch == "'y' differs from the serial execution, by its digest");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
