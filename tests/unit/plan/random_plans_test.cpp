#include "core/cost/roofline.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/share_links.hpp"
#include "tests/support/plan_by_rates.hpp"
#include "tests/support/random_case.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/share_view.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(random_plans)
namespace {

using testing::plan_by_rates;
using testing::RandomCase;
using testing::successors_of;
using testing::units;

// Checks one plan against its own arrays and against the graph.
class PlanCheck {
 public:
  PlanCheck(const RandomCase& c, const Plan& plan, bool has_free_windows)
      : c_(c), plan_(plan), has_free_windows_(has_free_windows), rank_(plan) {}

  void run() {
    std::uint64_t items = 0;
    for (const Window& window : plan_.windows) {
      std::uint64_t in_shares = 0;
      find_step(window);
      for (const auto& [resource, share] : window.shares) {
        in_shares += share.size();
        check_share(resource, share);
        for (std::uint32_t i = 0; i < share.size(); ++i) check_unit(resource, share, i);
      }
      BOOST_TEST(in_shares == window.items);
      check_waits(window);
      items += window.items;
    }
    BOOST_TEST(items == plan_.units.size());
    check_readers();
    if (!plan_.buffers.empty()) check_buffers();
  }

 private:
  void check_share(ResourceId resource, const Share& s) {
    const std::size_t n = s.size();
    const auto starts_grow = [&](std::uint32_t Share::Item::*start, std::size_t end) {
      BOOST_TEST((s.items[0].*start == 0U));
      BOOST_TEST((s.items[n].*start == end));
      BOOST_TEST(std::is_sorted(
          s.items.begin(), s.items.end(),
          [&](const Share::Item& a, const Share::Item& b) { return a.*start < b.*start; }));
    };
    starts_grow(&Share::Item::first_successor, s.successors.size());
    starts_grow(&Share::Item::first_input, s.inputs.size());
    BOOST_TEST(!s.items[n].unit);
    for (const Share::Item& item : s.items) BOOST_TEST(!item.finished());
    std::size_t elsewhere = 0;
    for (const Share::Successor next : s.successors) {
      const bool is_elsewhere = next.is_elsewhere();
      BOOST_TEST(next.place() < (is_elsewhere ? s.elsewhere.size() : n));
      elsewhere += is_elsewhere ? 1U : 0U;
    }
    BOOST_TEST(elsewhere == s.elsewhere.size());
    for (const ItemRef& other : s.elsewhere) BOOST_TEST((other.resource != resource));
    const bool is_device = resource.index() < c_.machine.devices.size();
    const std::vector<UnitId> order = units(s);
    BOOST_TEST(std::is_sorted(order.begin(), order.end(), [&](UnitId a, UnitId b) {
      if (is_device && priority(a) != priority(b)) return priority(a) > priority(b);
      return a < b;
    }));
    BOOST_TEST(s.kernels.empty() == !is_device);
    for (std::uint32_t i = 0; i < n; ++i) {
      BOOST_TEST(s.items[i].work < (is_device ? s.kernels.size() : s.moves.size()));
    }
    BOOST_TEST(s.chunks.size() == (is_device ? 0 : n));
    std::vector<std::uint32_t> first;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (s.items[i].waits_for == 0) first.push_back(i);
    }
    BOOST_TEST(s.first_items == first, boost::test_tools::per_element());
  }

  void check_unit(ResourceId resource, const Share& s, std::uint32_t item) {
    const Unit& unit = plan_.units[s.items[item].unit.index()];
    BOOST_TEST((unit.ref == ItemRef{resource, item}));
    for (const ReplicaId input : s.inputs_of(item)) {
      BOOST_TEST((input < s.output(item)));
    }
    const ReplicaSpec& output = plan_.replicas[s.output(item).index()];
    if (unit.transfer) {
      const Link& link = c_.machine.links[resource.index() - c_.machine.devices.size()];
      const ReplicaSpec& input = plan_.replicas[s.inputs_of(item)[0].index()];
      BOOST_TEST((link.source(s.move(item).direction) == input.memory));
      BOOST_TEST((link.target(s.move(item).direction) == output.memory));
      BOOST_TEST(s.move(item).bytes == c_.graph.type(unit.op).bytes());
      if (s.move(item).paces) {
        const ItemRef next = successors_of(resource, s, item)[0];
        BOOST_TEST((plan_.units[s.items[item].unit.index() + 1].ref == next));
        BOOST_TEST(plan_.units[s.items[item].unit.index() + 1].paced);
      }
    } else {
      const Device& device = c_.machine.devices[resource.index()];
      const Share::Kernel& kernel = s.kernels[s.items[item].work];
      BOOST_TEST((kernel.kind == c_.graph.kind_id(unit.op)));
      BOOST_TEST(kernel.attrs == &c_.graph.attrs(unit.op));
      BOOST_TEST(unit.is_further == (c_.graph.output_number(unit.op) > 0));
      BOOST_TEST(kernel.is_further == unit.is_further);
      BOOST_TEST(s.items[item].is_further == unit.is_further);
      if (unit.is_further) check_further(unit, s.items[item].unit, resource);
      const Duration time = unit.is_further ? Duration{0}
                                            : Roofline(c_.machine)
                                                  .op(DeviceId{unit.ref.resource.value}, c_.graph,
                                                      c_.graph.op_class(unit.op));
      BOOST_TEST((kernel.expected == (has_free_windows_ && !s.timed ? Duration{0} : time)));
      BOOST_TEST((device.memory == output.memory));
      for (const ReplicaId input : s.inputs_of(item)) {
        BOOST_TEST((plan_.replicas[input.index()].memory == output.memory));
      }
    }
  }

  // A further output is numbered behind its op, on the same device.
  void check_further(const Unit& unit, UnitId id, ResourceId resource) {
    const std::uint32_t number = c_.graph.output_number(unit.op);
    const Unit& maker = plan_.units[id.index() - number];
    BOOST_TEST((maker.op == c_.graph.maker(unit.op)));
    BOOST_TEST((maker.ref.resource == resource));
    BOOST_TEST(!maker.is_further);
  }

  // An item's `waits_for` is the number of times that items of its window list it as a successor.
  // Each of these lists it once for each time that it reads their tensor.
  void check_waits(const Window& window) {
    std::map<ItemRef, std::multiset<UnitId>> named_by;
    for (const auto& [resource, share] : window.shares) {
      for (std::uint32_t i = 0; i < share.size(); ++i) {
        for (const ItemRef& next : successors_of(resource, share, i)) {
          const UnitId unit = share.items[i].unit;
          const auto name = [&](std::uint32_t item) {
            const ItemRef ref{next.resource, item};
            named_by[ref].insert(unit);
          };
          const Share& there = share_in(window, next.resource);
          if (next.item < there.size()) {
            name(next.item);
            continue;
          }
          // An arrival stands for several items of another share.
          const auto items = there.items_of_arrival(next.item - there.size());
          BOOST_TEST((next.resource != resource));
          BOOST_TEST(items.size() > 1U);
          for (const std::uint32_t item : items) name(item);
        }
      }
    }
    for (const auto& [resource, share] : window.shares) {
      for (std::uint32_t i = 0; i < share.size(); ++i) {
        const std::multiset<UnitId>& waits = named_by[{resource, i}];
        BOOST_TEST(waits.size() == share.items[i].waits_for);
        const auto all = share.inputs_of(i);
        for (const ReplicaId p : all) BOOST_TEST((maker_of(p) < share.items[i].unit));
        for (const UnitId w : waits) {
          BOOST_TEST(static_cast<std::size_t>(
                         std::count(all.begin(), all.end(), ReplicaId{w.value})) == waits.count(w));
          BOOST_TEST((rank(w) >= rank(share.items[i].unit) + expected(w)));
        }
      }
    }
  }

  static const Share& share_in(const Window& window, ResourceId resource) {
    return std::find_if(window.shares.begin(), window.shares.end(),
                        [&](const auto& s) { return s.first == resource; })
        ->second;
  }
  Duration rank(UnitId u) const { return rank_[u]; }
  // The step of priorities: the next power of two behind a 32nd of what the device with most to do
  // takes.
  void find_step(const Window& window) {
    std::map<ResourceId, std::int64_t> loads;
    for (std::size_t u = window.first.index(); u < window.first.index() + window.items; ++u) {
      const ResourceId on = plan_.units[u].ref.resource;
      if (on.index() >= c_.machine.devices.size()) continue;
      loads[on] += std::max<std::int64_t>(1, expected(UnitId::at(u)).count());
    }
    std::int64_t most = 0;
    for (const auto& [resource, load] : loads) most = std::max(most, load);
    step_ = 1;
    while (step_ <= most / 32) step_ *= 2;
  }
  std::int64_t priority(UnitId u) const { return rank(u).count() / step_; }
  Duration expected(UnitId u) const {
    const ItemRef ref = plan_.units[u.index()].ref;
    for (const Window& window : plan_.windows) {
      for (const auto& [resource, share] : window.shares) {
        if (resource == ref.resource && ref.item < share.size() &&
            share.items[ref.item].unit == u) {
          return share.expected(ref.item);
        }
      }
    }
    return Duration::min();
  }

  void check_readers() {
    std::vector<std::uint32_t> readers(plan_.replicas.size(), 0);
    for (const Window& window : plan_.windows) {
      for (const auto& [resource, share] : window.shares) {
        for (const ReplicaId input : share.inputs) ++readers[input.index()];
      }
    }
    for (const Plan::Result& result : plan_.results) {
      if (result.is_kept) ++readers[result.replica.index()];
      BOOST_TEST(result.is_kept != plan_.replicas[result.replica.index()].leaves_digest);
    }
    for (std::size_t r = 0; r < readers.size(); ++r) {
      BOOST_TEST(readers[r] == plan_.replicas[r].readers);
      BOOST_TEST(readers[r] > 0U);
    }
  }

  // Plays the plan unit by unit: a unit's outputs are held from then on, and the tensors of which
  // the unit is the last reader are freed.
  void check_buffers() {
    std::vector<UnitId> last_reader(plan_.replicas.size());
    for (const Window& window : plan_.windows) {
      for (const auto& [resource, share] : window.shares) {
        for (std::uint32_t i = 0; i < share.size(); ++i) {
          for (const ReplicaId input : share.inputs_of(i)) {
            UnitId& last = last_reader[input.index()];
            if (!last || last < share.items[i].unit) last = share.items[i].unit;
          }
        }
      }
    }
    for (const Plan::Result& result : plan_.results) {
      if (result.is_kept) last_reader[result.replica.index()] = UnitId::none();
    }
    std::multimap<UnitId, std::size_t> leaves;
    std::vector<std::uint64_t> now(c_.graph.types().size(), 0);
    std::vector<std::uint64_t> most = now;
    for (std::size_t r = 0; r < last_reader.size(); ++r) {
      for (std::size_t made = r; !plan_.units[r].is_further; ++made) {
        const ReplicaSpec& spec = plan_.replicas[made];
        if (c_.machine.memory(spec.memory).kind == MemoryKind::ram) {
          most[spec.type] = std::max(most[spec.type], ++now[spec.type]);
          if (last_reader[made]) leaves.emplace(last_reader[made], spec.type);
        }
        if (made + 1 == plan_.units.size() || !plan_.units[made + 1].is_further) break;
      }
      const auto [begin, end] = leaves.equal_range(UnitId::at(r));
      for (auto gone = begin; gone != end; ++gone) --now[gone->second];
    }
    BOOST_TEST(plan_.buffers == most, boost::test_tools::per_element());
  }

  const RandomCase& c_;
  const Plan& plan_;
  bool has_free_windows_;  // ops that are prepared before the clock starts take no time
  UnitRanks rank_;
  std::int64_t step_ = 1;
};

BOOST_AUTO_TEST_CASE(shares_of_random_graphs_agree_with_each_other_and_the_graph) {
  for (std::uint64_t seed = 1; seed <= testing::usual_seeds(300); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const RandomCase c(seed);
      for (const bool simulated : {false, true}) {
        const Plan plan = plan_by_rates(c.graph, c.machine, c.scenario,
                                        {.needs_costs = simulated, .compare_results = !simulated});
        PlanCheck(c, plan, simulated).run();
      }
      for (const bool compared : {false, true}) {
        const Plan plan =
            plan_by_rates(c.graph, c.machine, c.scenario,
                          {.compare_results = compared, .ram_bytes = std::uint64_t{1} << 50});
        BOOST_TEST(!plan.buffers.empty());
        PlanCheck(c, plan, false).run();
      }
    }
  }
}

// Large enough to be planned on two threads.
BOOST_AUTO_TEST_CASE(shares_of_a_large_random_graph_agree_too) {
  const RandomCase c(1, {.ops_max = 40'000, .small = true});
  const Plan plan =
      plan_by_rates(c.graph, c.machine, c.scenario, {.ram_bytes = std::uint64_t{1} << 50});
  BOOST_TEST(plan.units.size() >= 20'000U);
  PlanCheck(c, plan, false).run();
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
