// The search for a device, against one that tries every device.
#include "core/plan/policies/device_search.hpp"

#include "core/base/random.hpp"
#include "core/cost/roofline.hpp"
#include "core/plan/policies/heft.hpp"
#include "core/plan/policies/stream_schedule.hpp"
#include "core/plan/policies/transfer_times.hpp"
#include "tests/support/random_cluster.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace troupe {
BOOST_AUTO_TEST_SUITE(device_search)
namespace {

using testing::on;
using testing::SmallGraph;
using testing::to;

struct Case {
  explicit Case(std::uint64_t seed) : random(seed), machine(testing::random_cluster(random)) {
    const std::uint64_t ops = 1 + random.below(150);
    const std::uint64_t reach = 1 + random.below(40);
    const bool are_long = random.below(2) == 0;
    for (std::uint64_t i = 0; i < ops; ++i) {
      std::vector<OpId> inputs;
      for (std::uint64_t k = random.below(4); k > 0 && i > 0; --k) {
        inputs.push_back(OpId::at(i - 1 - random.below(std::min(i, reach))));
      }
      if (!inputs.empty() && random.below(20) == 0) {
        g.copy("copy", inputs[0], to(machine.devices[any_device().index()].memory));
        continue;
      }
      const double ns = static_cast<double>((are_long ? 1000 : 100) * random.below(4));
      const auto bytes = static_cast<std::int64_t>(8 * (1 + 100 * random.below(3)));
      g.work("work", ns, inputs, random.below(6) == 0 ? on(any_device()) : Placement{}, bytes);
    }
    if (random.below(2) == 0) {
      for (Link& link : machine.links) link.chunk_bytes = 200 * (1 + random.below(3));
    }
    if (random.below(2) == 0) return;
    for (std::size_t i = 1; i < g.graph.size(); ++i) {
      if (random.below(20) == 0) waits.push_back(i);
    }
  }
  DeviceId any_device() { return DeviceId::at(random.below(machine.devices.size())); }
  bool can_run(DeviceId d, OpId op) const {
    return lacking == 0 || d.index() % lacking != g.graph.class_index(op) % lacking;
  }

  Random random;
  Machine machine;
  SmallGraph g;
  std::uint64_t lacking = random.below(3) == 0 ? 5 : 0;
  std::vector<std::size_t> waits;
};

// HEFT by its definition, one device after the other, for each window between two waits.
class PlainHeft {
 public:
  explicit PlainHeft(const Case& c) : c_(c), graph_(c.g.graph), router_(c.machine) {
    for (const Device& device : c.machine.devices) {
      streams_.emplace_back(static_cast<std::size_t>(device.streams));
    }
  }

  // One chunk after the other, over one link after the other.
  Duration transfer(MemoryId from, MemoryId to, OpId tensor) {
    const Route* const route = router_.route(from, to);
    if (route == nullptr) return TransferTimes::out_of_reach;
    if (route->empty()) return Duration{0};
    const std::uint64_t bytes = graph_.type(tensor).bytes();
    const std::uint16_t chunks = chunk_count(c_.machine, *route, bytes);
    std::vector<Duration> is_free(route->size());
    for (std::uint16_t chunk = 0; chunk < chunks; ++chunk) {
      Duration here{0};
      for (std::size_t h = 0; h < route->size(); ++h) {
        const Hop& hop = (*route)[h];
        const TransferCost cost = cost_.transfer(hop.link, hop.direction, bytes);
        here = is_free[h] = std::max(here, is_free[h]) + cost.chunk(chunk, chunks);
      }
    }
    return is_free.back();
  }
  Duration over_all_links(MemoryId from, MemoryId to, OpId tensor) {
    const Route* const route = router_.route(from, to);
    if (route == nullptr) return TransferTimes::out_of_reach;
    Duration total{0};
    for (const Hop& hop : *route) {
      total += cost_.transfer(hop.link, hop.direction, graph_.type(tensor).bytes()).total();
    }
    return total;
  }

  double mean_transfer_s(OpId tensor) {
    double sum = 0;
    for (const Device& a : c_.machine.devices) {
      for (const Device& b : c_.machine.devices) {
        sum += static_cast<double>(over_all_links(a.memory, b.memory, tensor).count());
      }
    }
    const auto n = static_cast<double>(c_.machine.devices.size());
    return sum * 1e-9 / (n * n);
  }

  std::vector<DeviceId> place() {
    memory_.resize(graph_.size());
    finish_.resize(graph_.size());
    copies_.resize(graph_.size());
    std::vector<DeviceId> devices(graph_.size());
    std::vector<std::size_t> ends = c_.waits;
    ends.push_back(graph_.size());
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      place_window(first, end, devices);
      for (std::size_t i = first; i < end; ++i) note_copies(OpId::at(i));
      earliest_ = *std::max_element(finish_.begin(), finish_.end());
      first = end;
    }
    return devices;
  }

 private:
  void place_window(std::size_t first, std::size_t end, std::vector<DeviceId>& devices) {
    std::vector<double> rank(graph_.size(), 0);
    for (std::size_t i = end; i-- > first;) {
      const OpId op = OpId::at(i);
      double sum = 0;
      double count = 0;
      for (const DeviceId d : candidates(op)) {
        sum += seconds(time_on(d, op));
        ++count;
      }
      if (count > 0 && !graph_.kind(op).moves_data) rank[i] += sum / count;
      for (const OpId input : graph_.inputs(op)) {
        rank[input.index()] = std::max(rank[input.index()], rank[i] + mean_transfer_s(input));
      }
    }
    std::vector<std::size_t> order(end - first);
    std::iota(order.begin(), order.end(), first);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rank[a] > rank[b]; });
    for (const std::size_t i : order) devices[i] = place_one(OpId::at(i));
  }
  void note_copies(OpId op) {
    for (const OpId input : graph_.inputs(op)) {
      const MemoryId from = memory_[input.index()];
      const MemoryId to = memory_[op.index()];
      const Route* const route = from && to ? router_.route(from, to) : nullptr;
      if (route == nullptr) continue;
      for (const Hop& hop : *route) {
        const MemoryId memory = c_.machine.link(hop.link).target(hop.direction);
        const bool is_result = memory == to && graph_.placement(op).memory;
        const bool stays = c_.machine.memory(memory).kind != MemoryKind::network;
        if (stays && !is_result) copies_[input.index()].insert(memory);
      }
    }
  }
  Duration time_on(DeviceId d, OpId op) const { return cost_.op(d, graph_, graph_.op_class(op)); }
  std::vector<DeviceId> candidates(OpId op) const {
    if (graph_.placement(op).memory) return {};
    if (const DeviceId given = graph_.placement(op).device; given) return {given};
    std::vector<DeviceId> found;
    for (std::size_t d = 0; d < streams_.size(); ++d) {
      if (c_.can_run(DeviceId::at(d), op)) found.push_back(DeviceId::at(d));
    }
    return found;
  }
  Duration ready(OpId op, MemoryId memory) {
    Duration ready = earliest_;
    for (const OpId input : graph_.inputs(op)) {
      const MemoryId from = memory_[input.index()];
      if (!from || copies_[input.index()].contains(memory)) continue;
      const Duration start = std::max(earliest_, finish_[input.index()]);
      ready = std::max(ready, start + transfer(from, memory, input));
    }
    return ready;
  }
  DeviceId place_one(OpId op) {
    if (const MemoryId target = graph_.placement(op).memory; target) {
      memory_[op.index()] = target;
      finish_[op.index()] = ready(op, target);
      return DeviceId::none();
    }
    Opening best;
    for (const DeviceId d : candidates(op)) {
      const Duration there = ready(op, c_.machine.device(d).memory);
      for (std::size_t stream = 0; stream < streams_[d.index()].size(); ++stream) {
        const Duration start = streams_[d.index()][stream].earliest(there, time_on(d, op));
        if (start + time_on(d, op) >= best.finish) continue;
        best = {d, stream, start, start + time_on(d, op)};
      }
    }
    if (!best.device) return best.device;
    streams_[best.device.index()][best.stream].take(best.start, best.finish - best.start);
    memory_[op.index()] = c_.machine.device(best.device).memory;
    finish_[op.index()] = best.finish;
    return best.device;
  }

  const Case& c_;
  const Graph& graph_;
  const Roofline cost_{c_.machine};
  Router router_;
  std::vector<std::vector<StreamSchedule>> streams_;
  std::vector<MemoryId> memory_;            // by op
  std::vector<Duration> finish_;            // by op
  std::vector<std::set<MemoryId>> copies_;  // by op: at the last wait
  Duration earliest_{0};
};

std::vector<DeviceId> placed_by_heft(const Case& c) {
  const Roofline cost(c.machine);
  Router router(c.machine);
  Reachability anywhere(c.machine);
  std::vector<OpId> ops;
  for (std::size_t i = 0; i < c.g.graph.size(); ++i) ops.push_back(OpId::at(i));
  const Graph& graph = c.g.graph;
  return heft_schedule(
             {.graph = graph,
              .machine = c.machine,
              .cost = cost,
              .router = router,
              .ops = ops,
              .waits = c.waits,
              .placement = [&](OpId op) -> const Placement& { return graph.placement(op); },
              .home = [](OpId) { return MemoryId::none(); },
              .can_run = [&](DeviceId d, OpId op) { return c.can_run(d, op); },
              .reachability = anywhere})
      .devices;
}

BOOST_AUTO_TEST_CASE(on_random_machines_the_device_is_the_one_that_trying_all_finds) {
  std::uint64_t tried = 0;
  std::uint64_t large = 0;
  for (std::uint64_t seed = testing::first_seed(); seed <= testing::seeds(500); ++seed, ++tried) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Case c(seed);
      if (c.machine.devices.size() > 16) ++large;
      BOOST_REQUIRE((placed_by_heft(c) == PlainHeft(c).place()));
    }
  }
  BOOST_TEST(5 * (large + 1) > tried);
}

BOOST_AUTO_TEST_CASE(the_mean_of_transfers_over_blocks_is_that_over_all_pairs_of_devices) {
  for (std::uint64_t seed = 0; seed < testing::usual_seeds(100); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Case c(seed);
      const Roofline cost(c.machine);
      Router router(c.machine);
      TransferTimes times(c.machine, cost, router);
      const OpId op{0};
      BOOST_TEST(times.mean_s(c.g.graph.type(op).bytes()) == PlainHeft(c).mean_transfer_s(op),
                 boost::test_tools::tolerance(1e-12));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe
