#include "bench/overlap/workload.hpp"

#include "actors/runner.hpp"
#include "core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe::bench {
namespace {

TensorType matrix_type(const Products& products) {
  return {.dtype = DType::f32, .shape = {products.extent, products.extent}};
}

}  // namespace

GroupId Workload::products(std::string name, std::string_view device, const Products& products) {
  graph_.begin_group(name + "_x");
  const OpId x = graph_.append({.kind = graph_.kinds().find("uniform"),
                                .placement = on(device),
                                .declared = matrix_type(products)});
  const GroupId group = graph_.begin_group(std::move(name), true);
  const OpTemplateId product =
      graph_.add_template({.kind = graph_.kinds().find("matmul"), .placement = on(device)});
  const OpId inputs[] = {x, x};
  for (std::size_t k = 0; k < products.count; ++k) graph_.append(product, inputs);
  return group;
}

GroupId Workload::values(std::string name, std::string_view device, const Products& products) {
  const GroupId group = graph_.begin_group(std::move(name), true);
  for (std::size_t k = 0; k < products.count; ++k) {
    Attrs attrs;
    attrs.set("seed", static_cast<std::int64_t>(k));
    graph_.append({.kind = graph_.kinds().find("uniform"),
                   .placement = on(device),
                   .attrs = attrs,
                   .declared = matrix_type(products)});
  }
  return group;
}

GroupId Workload::copies(std::string name, GroupId of, std::string_view memory) {
  const Group from = graph_.group(of);
  const GroupId group = graph_.begin_group(std::move(name), true);
  const OpTemplateId copy = graph_.add_template(
      {.kind = graph_.kinds().find("copy"), .placement = {.memory = machine_.find_memory(memory)}});
  for (std::uint32_t k = 0; k < from.count; ++k) {
    const OpId input{from.first.value + k};
    graph_.append(copy, {&input, 1});
  }
  return group;
}

Timed Workload::run(const std::vector<GroupId>& groups) const {
  std::vector<Step> steps;
  for (const GroupId group : groups) steps.push_back({.group = group});
  return run_steps(std::move(steps));
}

Timed Workload::run_in_turn(const std::vector<GroupId>& groups) const {
  std::vector<Step> steps;
  for (const GroupId group : groups) {
    steps.push_back({.group = group});
    steps.push_back({});
  }
  return run_steps(std::move(steps));
}

Timed Workload::run_steps(std::vector<Step> steps) const {
  const std::vector<Scenario> scenarios{{.name = "overlap", .steps = std::move(steps)}};
  Run run(machine_, graph_, scenarios, {.verify = false, .keep_timeline = false});
  const Report report = run.perform();
  const ScenarioReport& scenario = report.scenarios.at(0);
  if (scenario.outcome != Outcome::done) throw run_error(scenario.error);
  return {.seconds = seconds(scenario.makespan), .bound_seconds = seconds(scenario.lower_bound)};
}

}  // namespace troupe::bench
