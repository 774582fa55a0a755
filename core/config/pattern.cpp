#include "core/config/pattern.hpp"

#include "core/config/values.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

PointWork work_named(std::string_view kernel) {
  const auto* const found = std::find(point_work_names.begin(), point_work_names.end(), kernel);
  return static_cast<PointWork>(found - point_work_names.begin());
}

// The key for the amount of work; empty if this work has none.
std::string_view amount_key(PointWork work) {
  if (work == PointWork::spin) return "iterations";
  return work == PointWork::memory ? "bytes" : "";
}

}  // namespace

Pattern PatternReader::read(const Node& name) const {
  std::vector<std::string_view> names;
  for (const DependenceInfo& d : dependences()) names.push_back(d.name);
  Pattern pattern;
  pattern.dependence = static_cast<Dependence>(read_choice(name, of_task("pattern"), names));
  const Node& width = require(body_, "width", task_);
  const Node& steps = require(body_, "steps", task_);
  pattern.width = read_count(width, "width");
  pattern.steps = read_count(steps, "steps");
  const std::uint64_t points = std::uint64_t{pattern.width} * pattern.steps;
  if (points > Pattern::points_max) {
    throw usage_error(steps.place(), fmt::format("{} is {} ops, width times steps", task_, points),
                      fmt::format("the limit is {}", Pattern::points_max));
  }
  read_parameters(pattern);
  try {
    pattern.check();
  } catch (const Error& error) {
    throw usage_error(name.place(), fmt::format("{}: {}", task_, error.problem()), error.remedy());
  }
  return pattern;
}

// A stencil_1d of kernel `spin` is made of points only if it has `output_bytes` or `imbalance`,
// else of op `spin`.
bool PatternReader::is_point_work(const Pattern& pattern, std::string_view kernel) const {
  if (std::find(point_work_names.begin(), point_work_names.end(), kernel) ==
      point_work_names.end()) {
    return false;
  }
  return kernel != "spin" || pattern.dependence != Dependence::stencil_1d ||
         find(body_, "output_bytes") != nullptr || find(body_, "imbalance") != nullptr;
}

PointTask PatternReader::read_point(const Pattern& pattern, const Node& kernel) const {
  PointTask point{.pattern = pattern, .work = work_named(kernel.text)};
  const std::string_view amount = amount_key(point.work);
  std::vector<std::string_view> known = {"output_bytes"};
  if (!amount.empty()) known.insert(known.end(), {amount, "imbalance"});
  if (find(body_, "imbalance") != nullptr) known.push_back("seed");
  check_keys(pattern, kernel.text, std::move(known));

  if (!amount.empty()) {
    const Node* n = find(body_, amount);
    if (n == nullptr) {
      throw usage_error(kernel.place(), fmt::format("'{}' needs '{}'", kernel.text, amount),
                        fmt::format("add `{}: …`", amount));
    }
    if (point.work == PointWork::spin) {
      point.iterations = read_integer(*n, of_task(amount), 0, PointTask::iterations_max);
    } else {
      point.bytes = read_size(*n, amount, 0);
    }
  }
  if (const Node* n = find(body_, "imbalance")) point.imbalance = read_part(*n, "imbalance");
  if (const Node* n = find(body_, "output_bytes")) {
    point.output_bytes =
        static_cast<std::uint64_t>(read_size(*n, "output_bytes", PointTask::pair_bytes));
  }
  return point;
}

void PatternReader::check_keys(const Pattern& pattern, std::string_view kernel,
                               std::vector<std::string_view> known) const {
  known.insert(known.begin(), {"pattern", "width", "steps", "kernel", "on"});
  const DependenceInfo& d = info(pattern.dependence);
  if (d.takes_radix) known.push_back("radix");
  if (d.takes_period) known.push_back("period");
  if (d.takes_fraction) known.insert(known.end(), {"fraction", "seed"});
  troupe::check_keys(body_, fmt::format("a pattern of '{}'", kernel), known);
}

std::string PatternReader::of_task(std::string_view key) const {
  return fmt::format("{} of {}", key, task_);
}

std::uint32_t PatternReader::read_count(const Node& node, std::string_view key) const {
  return static_cast<std::uint32_t>(read_integer(node, of_task(key), 1, Pattern::points_max));
}

double PatternReader::read_part(const Node& node, std::string_view key) const {
  const double value = read_number(node, of_task(key));
  if (value >= 0 && value <= 1) return value;
  throw usage_error(node.place(), fmt::format("{} is {}", of_task(key), describe(node)),
                    "write a number from 0 to 1");
}

// Bytes, as a bare number or with a unit.
std::int64_t PatternReader::read_size(const Node& node, std::string_view key,
                                      std::int64_t bytes_min) const {
  const bool bare = node.text.find_first_not_of("0123456789") == std::string::npos;
  if (node.type != Node::Type::scalar || bare) {
    return read_integer(node, of_task(key), bytes_min, PointTask::bytes_max);
  }
  const std::uint64_t bytes = read_bytes(node, of_task(key));
  if (bytes >= static_cast<std::uint64_t>(bytes_min) &&
      bytes <= static_cast<std::uint64_t>(PointTask::bytes_max)) {
    return static_cast<std::int64_t>(bytes);
  }
  throw usage_error(node.place(), fmt::format("{} is {}", of_task(key), describe(node)),
                    fmt::format("it goes from {} to {}", bytes_min, PointTask::bytes_max));
}

void PatternReader::read_parameters(Pattern& pattern) const {
  if (const Node* n = find_parameter(pattern, "radix", &DependenceInfo::takes_radix)) {
    pattern.radix = read_count(*n, "radix");
  } else if (info(pattern.dependence).takes_radix) {
    pattern.radix = std::min(pattern.radix, pattern.width);
  }
  if (const Node* n = find_parameter(pattern, "period", &DependenceInfo::takes_period)) {
    pattern.period = read_count(*n, "period");
  }
  if (const Node* n = find_parameter(pattern, "fraction", &DependenceInfo::takes_fraction)) {
    pattern.fraction = read_part(*n, "fraction");
  }
  if (const Node* n = find(body_, "seed")) {
    pattern.seed =
        static_cast<std::uint64_t>(read_integer(*n, of_task("seed"), 0, Pattern::seed_max));
  }
}

// Null if the task has no such key. Throws if it has, and this pattern takes no such parameter.
const Node* PatternReader::find_parameter(const Pattern& pattern, std::string_view key,
                                          bool DependenceInfo::*takes) const {
  const Node* node = find(body_, key);
  const DependenceInfo& self = info(pattern.dependence);
  if (node == nullptr || self.*takes) return node;
  std::vector<std::string_view> takers;
  for (const DependenceInfo& d : dependences()) {
    if (d.*takes) takers.push_back(d.name);
  }
  throw usage_error(place_of_key(key), fmt::format("'{}' takes no '{}'", self.name, key),
                    fmt::format("remove it; {} {} one", fmt::join(takers, ", "),
                                takers.size() == 1 ? "takes" : "take"));
}

SourcePlace PatternReader::place_of_key(std::string_view wanted) const {
  std::size_t i = 0;
  while (body_.key(i).text != wanted) ++i;
  return body_.key(i).place();
}

}  // namespace troupe
