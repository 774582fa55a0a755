// Builds graphs for tests, op by op. Each op is a separate group.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/scenario.hpp"
#include "core/ops/elementwise.hpp"

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
// A tensor type of `bytes`, which must be a multiple of 8.
inline TensorType of_bytes(std::int64_t bytes) {
  return {DType::f64, {bytes / 8}};
}

inline void half_kernel(const CpuCall& call) {
  with_element(call.output.type.dtype, [&](auto element) {
    using T = decltype(element);
    const T* const x = call.inputs[0].as<T>();
    T* const half = call.output.as<T>();
    T* const sum = call.further_outputs[0].as<T>();
    T* const twice = call.further_outputs[1].as<T>();
    *sum = 0;
    for (std::int64_t i = 0; i < call.output.type.shape.elements(); ++i) {
      half[i] = x[i] / 2;
      *sum += x[i];
      twice[i] = x[i] * 2;
    }
  });
}

// builtin_ops() and two more kinds. "work" takes `flops` floating-point operations and up to 64
// inputs, makes a tensor of the declared type, and moves no bytes in the cost model. Its kernel
// fills the tensor with the number of inputs. "half" makes x / 2 and further outputs: "sum" of its
// elements, and "twice", 2x.
inline const OpRegistry& test_ops() {
  static const OpRegistry registry = [] {
    OpRegistry ops = builtin_ops();
    ops.add({.name = "work",
             .summary = "floating-point operations",
             .inputs = {0, 64},
             .attrs = {{.name = "flops", .fallback = 0.0}},
             .declares_type = true,
             .type = [](const OpSignature& op) { return op.declared; },
             .work = [](const OpSignature& op,
                        const TensorType&) { return Work{.flops = op.attrs.get<double>("flops")}; },
             .cpu =
                 [](const CpuCall& call) {
                   auto* out = call.output.as<double>();
                   for (std::int64_t i = 0; i < call.output.type.shape.elements(); ++i) {
                     out[i] = static_cast<double>(call.inputs.size());
                   }
                 }});
    ops.add({.name = "half",
             .summary = "x / 2, its sum, and 2x",
             .inputs = 1,
             .further_outputs = {{.name = "sum",
                                  .type =
                                      [](const OpSignature& op) {
                                        return TensorType{op.inputs[0].dtype, {1}};
                                      }},
                                 {.name = "twice"}},
             .cpu = half_kernel});
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
  // An op that takes `ns` nanoseconds on a device of 1 GFLOP/s, as in small_machine.hpp.
  OpId work(std::string name, double ns, std::vector<OpId> inputs = {}, Placement placement = {},
            std::int64_t bytes = 8) {
    return op(std::move(name), "work", std::move(inputs), placement, {{"flops", ns}},
              of_bytes(bytes));
  }
  OpId copy(std::string name, OpId source, Placement placement) {
    return op(std::move(name), "copy", {source}, placement);
  }

  // `steps` are names of groups, or "wait".
  Scenario scenario(std::initializer_list<std::string_view> steps) const {
    Scenario result{.name = "test", .steps = {}};
    for (const std::string_view step : steps) {
      result.steps.push_back({.group = step == "wait" ? GroupId{} : graph.find_group(step)});
    }
    return result;
  }
  // All groups, without waits.
  Scenario everything() const {
    Scenario result{.name = "everything", .steps = {}};
    for (std::size_t g = 0; g < graph.group_count(); ++g) {
      result.steps.push_back({.group = GroupId::at(g)});
    }
    return result;
  }
};

}  // namespace troupe::testing
