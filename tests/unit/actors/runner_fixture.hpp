// What the tests of Run have in common: a machine of two devices, a small graph, and a run of it.
#pragma once

#include "actors/runner.hpp"
#include "tests/support/small_graph.hpp"
#include "tests/support/small_machine.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::testing {

inline constexpr DeviceId dev0{0};
inline constexpr DeviceId dev1{1};
inline constexpr Mode all_modes[] = {Mode::simulate, Mode::rehearse, Mode::run};

// dev0 (two streams) and dev1 with a memory each and a link.
inline Machine pair() {
  return two_devices({.streams = 2});
}

inline Report perform(const SmallGraph& g, const std::vector<Scenario>& scenarios,
                      RunOptions options, const Machine& machine = pair()) {
  return Run(machine, g.graph, scenarios, std::move(options)).perform();
}

// x ─┬─ y on dev1
//    └─ z on dev0
inline SmallGraph fork() {
  SmallGraph g;
  const OpId x = g.op("x", "uniform", {}, on(dev0), {{"seed", 1}}, {DType::f64, {64, 64}});
  g.op("y", "matmul", {x, x}, on(dev1));
  g.op("z", "relu", {x}, on(dev0));
  return g;
}

// test_ops() and a kind of this name, which is "work" with another kernel.
inline OpRegistry ops_with(std::string_view name, CpuKernel kernel) {
  OpRegistry ops = test_ops();
  OpKind kind = ops[ops.find("work")];
  kind.name = name;
  kind.cpu = kernel;
  ops.add(std::move(kind));
  return ops;
}

}  // namespace troupe::testing
