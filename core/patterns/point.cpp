// point: one point of a Task Bench pattern (Slaughter et al., SC 2020). The op's index in its group
// determines which point. Its inputs are the dependences of that point, in the order of
// for_each_dependence. The output has the type float64 [2 * pairs], but holds integers: the payload
// described in point_task.hpp.
#include "core/base/error.hpp"
#include "core/patterns/pattern_ops.hpp"
#include "core/patterns/point_task.hpp"

#include <limits>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::int64_t uint32_max = std::numeric_limits<std::uint32_t>::max();

PointTask task_of(const Attrs& attrs) {
  const auto integer = [&](std::string_view name) { return attrs.get<std::int64_t>(name); };
  return {.pattern = {.dependence = static_cast<Dependence>(integer("pattern")),
                      .width = static_cast<std::uint32_t>(integer("width")),
                      .steps = static_cast<std::uint32_t>(integer("steps")),
                      .radix = static_cast<std::uint32_t>(integer("radix")),
                      .period = static_cast<std::uint32_t>(integer("period")),
                      .fraction = attrs.get<double>("fraction"),
                      .seed = static_cast<std::uint64_t>(integer("seed"))},
          .work = static_cast<PointWork>(integer("work")),
          .iterations = integer("iterations"),
          .bytes = integer("bytes"),
          .imbalance = attrs.get<double>("imbalance"),
          .output_bytes = static_cast<std::uint64_t>(integer("output_bytes"))};
}

// Searching for the attributes would take a noticeable part of the kernel's time.
std::shared_ptr<const void> prepare(const Attrs& attrs) {
  return std::make_shared<const PointTask>(task_of(attrs));
}

TensorType type(const OpSignature& op) {
  const PointTask task = task_of(op.attrs);
  const TensorType output{DType::f64,
                          Shape{static_cast<std::int64_t>(task.payload_bytes() / sizeof(double))}};
  for (const TensorType& input : op.inputs) {
    if (input == output) continue;
    throw usage_error(
        fmt::format("a point that makes {} reads {}", to_string(output), to_string(input)),
        "all points of a pattern have the same output");
  }
  return output;
}

// The mean over the points of a pattern, plus the payloads, each read or written once.
Work work(const OpSignature& op, const TensorType& output) {
  const PointTask task = task_of(op.attrs);
  Work work;
  work.flops = task.mean_flops();
  work.bytes = task.mean_bytes() + static_cast<double>(output.bytes() * (op.inputs.size() + 1));
  return work;
}

void kernel(const CpuCall& call) {
  const auto& task = call.attrs.prepared<PointTask>();
  const Pattern& pattern = task.pattern;
  const Point point = pattern.point(call.index);
  const std::size_t bytes = call.output.type.bytes();
  const auto wrong_number = [&](std::size_t expected) {
    return run_error(fmt::format("point ({}, {}) has {} inputs and not {}", point.t, point.i,
                                 call.inputs.size(), expected),
                     "its group is not the pattern that it says");
  };
  const auto input = [&](std::size_t k, std::uint32_t) -> std::span<const std::byte> {
    if (k >= call.inputs.size()) throw wrong_number(k + 1);
    return {call.inputs[k].data, bytes};
  };
  const std::size_t read = check_inputs(pattern, point, input);
  if (read != call.inputs.size()) throw wrong_number(read);
  if (task.work != PointWork::empty) do_work(task, point);
  write_payload({call.output.data, bytes}, point);
}

OpKind point_op() {
  return {
      .name = "point",
      .summary = "one point of a Task Bench pattern",
      .inputs = {0, uint32_max},
      .attrs = {{.name = "pattern",
                 .fallback = std::int64_t{0},
                 .value_max = static_cast<std::int64_t>(Dependence::random_nearest)},
                {.name = "width", .fallback = std::int64_t{1}, .value_max = uint32_max},
                {.name = "steps", .fallback = std::int64_t{1}, .value_max = uint32_max},
                {.name = "radix", .fallback = std::int64_t{1}, .value_max = uint32_max},
                {.name = "period", .fallback = std::int64_t{1}, .value_max = uint32_max},
                {.name = "fraction", .fallback = 0.0},
                {.name = "seed", .fallback = std::int64_t{0}},
                {.name = "work",
                 .fallback = std::int64_t{0},
                 .value_max = static_cast<std::int64_t>(PointWork::memory)},
                {.name = "iterations",
                 .fallback = std::int64_t{0},
                 .value_max = PointTask::iterations_max},
                {.name = "bytes", .fallback = std::int64_t{0}, .value_max = PointTask::bytes_max},
                {.name = "imbalance", .fallback = 0.0},
                {.name = "output_bytes",
                 .fallback = std::int64_t{PointTask::pair_bytes},
                 .value_max = PointTask::bytes_max}},
      .type = type,
      .work = work,
      .cpu = kernel,
      .prepare = prepare};
}

}  // namespace

Attrs to_attrs(const PointTask& task) {
  const Pattern& p = task.pattern;
  const auto integer = [](auto value) { return static_cast<std::int64_t>(value); };
  return {{"pattern", integer(p.dependence)}, {"width", integer(p.width)},
          {"steps", integer(p.steps)},        {"radix", integer(p.radix)},
          {"period", integer(p.period)},      {"fraction", p.fraction},
          {"seed", integer(p.seed)},          {"work", integer(task.work)},
          {"iterations", task.iterations},    {"bytes", task.bytes},
          {"imbalance", task.imbalance},      {"output_bytes", integer(task.output_bytes)}};
}

const OpRegistry& pattern_ops() {
  static const OpRegistry registry = [] {
    OpRegistry ops = builtin_ops();
    ops.add(point_op());
    return ops;
  }();
  return registry;
}

}  // namespace troupe
