#include "tests/support/random_case.hpp"

#include "tests/support/small_graph.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

template <class T, std::size_t n>
T pick(Random& random, const T (&choices)[n]) {
  return choices[random.below(n)];
}

bool chance(Random& random, double p) {
  return random.unit() < p;
}

class GraphMaker {
 public:
  GraphMaker(Random& random, const Machine& machine, const GraphLimits& limits)
      : random_(random), machine_(machine), limits_(limits) {
    placed_ = pick(random, {0.0, 0.5, 1.0});
  }

  Graph make() {
    const std::size_t ops = 1 + random_.below(limits_.ops_max);
    while (graph_.size() < ops) {
      const std::size_t count = std::min<std::size_t>(1 + random_.below(4), ops - graph_.size());
      const bool make_several = graph_.size() > 0 && chance(random_, 0.1);
      graph_.begin_group("g" + std::to_string(graph_.group_count()), count > 1);
      for (std::size_t i = 0; i < count; ++i) {
        if (make_several) {
          append_on_one("half");
        } else {
          append_any();
        }
      }
    }
    return std::move(graph_);
  }

 private:
  void append_any() {
    constexpr std::array kinds = {"uniform", "zeros", "matmul", "matmul", "add",  "sub",
                                  "mul",     "scale", "relu",   "copy",   "copy", "spin"};
    std::string kind = kinds[random_.below(kinds.size())];
    if (limits_.may_round && kind == "sub") kind = "add";
    if (graph_.size() == 0 || kind == "uniform" || kind == "zeros") {
      append_source(kind == "zeros" ? "zeros" : "uniform");
    } else if (kind == "matmul") {
      append_matmul();
    } else if (kind == "add" || kind == "sub" || kind == "mul") {
      append_elementwise(kind);
    } else if (kind == "spin") {
      append_spin();
    } else {
      append_on_one(kind);
    }
  }

  void append(const std::string& kind, std::vector<OpId> inputs, Attrs attrs = {},
              TensorType declared = {}) {
    graph_.append({.kind = graph_.kinds().find(kind),
                   .inputs = inputs,
                   .placement = kind == "half" && limits_.half_on ? on(limits_.half_on)
                                                                  : placement(kind == "copy"),
                   .attrs = std::move(attrs),
                   .declared = declared});
    is_rounded_.resize(graph_.size(), kind == "matmul" || any_rounded(inputs));
  }

  bool any_rounded(const std::vector<OpId>& inputs) const {
    return std::any_of(inputs.begin(), inputs.end(),
                       [this](OpId input) { return is_rounded_[input.index()]; });
  }

  void append_source(const std::string& kind) {
    Attrs attrs;
    if (kind == "uniform") attrs = {{"seed", static_cast<std::int64_t>(random_.below(1000))}};
    const DType dtype = chance(random_, 0.5) ? DType::f32 : DType::f64;
    append(kind, {}, std::move(attrs), {dtype, {extent(), extent()}});
  }

  // A product of two earlier matrices, transposed if that makes their shapes fit.
  void append_matmul() {
    const OpId a = any();
    const TensorType& ta = graph_.type(a);
    if (ta.shape.rank() != 2) return append_elementwise("mul");
    const bool transpose_a = chance(random_, 0.3);
    const std::int64_t inner = ta.shape[transpose_a ? 0 : 1];
    for (int attempt = 0; attempt < 10; ++attempt) {
      const OpId b = any();
      const TensorType& tb = graph_.type(b);
      if (tb.shape.rank() != 2 || tb.dtype != ta.dtype) continue;
      for (const bool transpose_b : {false, true}) {
        if (tb.shape[transpose_b ? 1 : 0] != inner) continue;
        append("matmul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
        return;
      }
    }
    append("matmul", {a, a}, {{"transpose_b", true}});
  }

  void append_elementwise(const std::string& kind) {
    const OpId a = any();
    OpId b = a;
    for (int attempt = 0; attempt < 10 && b == a; ++attempt) {
      const OpId other = any();
      if (graph_.type(other) == graph_.type(a)) b = other;
    }
    append(kind, {a, b});
  }

  void append_on_one(const std::string& kind) {
    if (kind != "scale") return append(kind, {any()});
    const double alpha = random_.unit() * 4 - 2;
    append(kind, {any()}, {{"alpha", limits_.may_round ? std::abs(alpha) : alpha}});
  }

  void append_spin() {
    std::vector<OpId> inputs(random_.below(5));
    for (OpId& input : inputs) input = any();
    if (limits_.may_round && any_rounded(inputs)) inputs.clear();
    append("spin", std::move(inputs),
           {{"iterations", static_cast<std::int64_t>(random_.below(50))}});
  }

  // Chooses a tensor. Prefers recent ones, so that graphs get deep.
  OpId any() {
    const std::size_t back = std::min(graph_.size(), chance(random_, 0.7) ? 6 : graph_.size());
    return OpId::at(graph_.size() - 1 - random_.below(back));
  }

  std::int64_t extent() {
    if (limits_.small) return pick<std::int64_t>(random_, {1, 2, 3});
    if (!limits_.may_round) return pick<std::int64_t>(random_, {1, 7, 24, 45});
    return pick<std::int64_t>(random_, {1, 7, 45, 130});  // small and large products on a GPU
  }

  Placement placement(bool is_copy) {
    Placement p;
    if (!chance(random_, is_copy ? std::max(placed_, 0.5) : placed_)) return p;
    if (is_copy && chance(random_, 0.7)) {
      // A copy within a memory requires a device of this memory.
      p.memory = machine_.devices[random_.below(machine_.devices.size())].memory;
    } else {
      p.device = DeviceId::at(random_.below(machine_.devices.size()));
    }
    return p;
  }

  Random& random_;
  const Machine& machine_;
  const GraphLimits& limits_;
  double placed_ = 0;
  Graph graph_{test_ops()};
  std::vector<bool> is_rounded_;  // by op: a product is among what it is made of
};

Link random_link(Random& random, std::size_t a, std::size_t b, std::size_t number) {
  return {.name = "link" + std::to_string(number),
          .a = MemoryId::at(a),
          .b = MemoryId::at(b),
          .bandwidth = {pick(random, {1e8, 1e9, 1e10}), pick(random, {1e8, 1e9, 1e10})},
          .latency = Duration{pick(random, {0, 500, 20'000})},
          .sharing = chance(random, 0.5) ? Sharing::fifo : Sharing::fair,
          .chunk_bytes = pick<std::uint64_t>(random, {1000, 4096, 5000, 1 << 20})};
}

}  // namespace

Machine random_machine(Random& random) {
  Machine m{.name = "random", .devices = {}, .memories = {}, .links = {}};
  const std::size_t devices = 1 + random.below(4);
  const std::size_t memories = 1 + random.below(devices + 2);
  for (std::size_t i = 0; i < memories; ++i) {
    m.memories.push_back({.name = "mem" + std::to_string(i), .size_bytes = 256 << 20});
    if (i > 0) m.links.push_back(random_link(random, random.below(i), i, m.links.size()));
  }
  for (std::size_t extra = random.below(3); memories > 1 && extra > 0; --extra) {
    const std::size_t a = random.below(memories);
    const std::size_t b = (a + 1 + random.below(memories - 1)) % memories;
    m.links.push_back(random_link(random, a, b, m.links.size()));
  }
  for (std::size_t d = 0; d < devices; ++d) {
    Device device{.name = "dev" + std::to_string(d),
                  .memory = MemoryId::at(random.below(memories)),
                  .streams = static_cast<int>(1 + random.below(3)),
                  .launch = Duration{pick(random, {0, 300, 5'000})},
                  .flops = pick(random, {1e8, 1e9, 2e10})};
    if (chance(random, 0.5)) device.bandwidth = pick(random, {1e8, 1e10});
    m.devices.push_back(std::move(device));
  }
  return m;
}

Graph random_graph(Random& random, const Machine& machine, const GraphLimits& limits) {
  return GraphMaker(random, machine, limits).make();
}

Scenario random_scenario(Random& random, const Graph& graph) {
  Scenario scenario{.name = "random", .steps = {}};
  const std::size_t groups = graph.group_count();
  const std::size_t prepared = chance(random, 0.5) ? random.below(1 + groups / 3) : 0;
  const std::size_t left_out = chance(random, 0.2) ? random.below(1 + groups / 5) : 0;
  const double wait = pick(random, {0.0, 0.1, 0.5});
  std::vector<Step> window;
  const auto flush = [&] {
    for (std::size_t i = window.size(); i > 1; --i) {
      std::swap(window[i - 1], window[random.below(i)]);
    }
    scenario.steps.insert(scenario.steps.end(), window.begin(), window.end());
    window.clear();
  };
  for (std::size_t g = prepared; g < groups - left_out; ++g) {
    window.push_back({.group = GroupId::at(g)});
    if (!chance(random, wait)) continue;
    flush();
    scenario.steps.push_back({});
  }
  flush();
  return scenario;
}

RandomCase::RandomCase(std::uint64_t seed, const GraphLimits& limits)
    : random(seed),
      machine(random_machine(random)),
      graph(random_graph(random, machine, limits)),
      scenario(random_scenario(random, graph)) {}

}  // namespace troupe::testing
