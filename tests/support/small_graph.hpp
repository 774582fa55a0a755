// Graphs to test with, built op by op, each op a group of its own.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::testing {

inline Placement on(DeviceId device) {
  return {.device = device, .memory = {}};
}
inline Placement to(MemoryId memory) {
  return {.device = {}, .memory = memory};
}
// A tensor type of so many bytes, a multiple of 8.
inline TensorType of_bytes(std::int64_t bytes) {
  return {DType::f64, {bytes / 8}};
}

// builtin_ops() and "work": takes `flops` floating-point operations, makes a tensor of the declared
// type from up to 64 others, moves no bytes. Its kernel fills the tensor with the number of inputs.
inline const OpRegistry& test_ops() {
  static const OpRegistry registry = [] {
    OpRegistry ops = builtin_ops();
    ops.add({.name = "work",
             .summary = "floating-point operations",
             .inputs_max = 64,
             .attrs = {{.name = "flops", .fallback = 0.0}},
             .declares_type = true,
             .type = [](const OpSignature& op) { return op.declared; },
             .work = [](const OpSignature& op,
                        const TensorType&) { return Work{.flops = std::get<double>(op.attrs[0])}; },
             .cpu =
                 [](const CpuCall& call) {
                   auto* out = call.output.as<double>();
                   for (std::int64_t i = 0; i < call.output.type.shape.elements(); ++i) {
                     out[i] = static_cast<double>(call.inputs.size());
                   }
                 }});
    return ops;
  }();
  return registry;
}

struct SmallGraph {
  Graph graph{test_ops()};

  OpId op(std::string name, std::string_view kind, std::vector<OpId> inputs = {},
          Placement placement = {}, Attrs attrs = {}, TensorType declared = {}) {
    graph.begin_group(std::move(name));
    return graph.append({.kind = graph.kinds().find(kind),
                         .inputs = inputs,
                         .placement = placement,
                         .attrs = std::move(attrs),
                         .declared = declared});
  }
  // On a device of 1 GFLOP/s (see small_machine.hpp) it takes `ns` nanoseconds.
  OpId work(std::string name, double ns, std::vector<OpId> inputs = {}, Placement placement = {},
            std::int64_t bytes = 8) {
    return op(std::move(name), "work", std::move(inputs), placement, {ns}, of_bytes(bytes));
  }
  OpId copy(std::string name, OpId source, Placement placement) {
    return op(std::move(name), "copy", {source}, placement);
  }

  // Names of groups, and "wait".
  Scenario scenario(std::initializer_list<std::string_view> steps) const {
    Scenario result{.name = "test", .steps = {}};
    for (const std::string_view step : steps) {
      result.steps.push_back({.group = step == "wait" ? GroupId{} : graph.find_group(step)});
    }
    return result;
  }
  // Every group, without a wait.
  Scenario everything() const {
    Scenario result{.name = "everything", .steps = {}};
    for (std::size_t g = 0; g < graph.group_count(); ++g) {
      result.steps.push_back({.group = GroupId::at(g)});
    }
    return result;
  }
};

}  // namespace troupe::testing
