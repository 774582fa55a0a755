// An op of the program's own: its name, a parameter and a kernel. Shape rule and cost have
// defaults: the output has the type of the input, and each element is read and written once.
#include "troupe/troupe.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

int main() {
  OpRegistry ops = builtin_ops();
  ops.add({.name = "clamp",
           .summary = "values above `limit` become `limit`",
           .inputs = 1,
           .attrs = {{.name = "limit", .fallback = 1.0}},
           .cpu = [](const CpuCall& call) {
             const auto limit = static_cast<float>(call.attrs.get<double>("limit"));
             const auto* const x = call.inputs[0].as<float>();
             std::transform(x, x + call.output.type.shape.elements(), call.output.as<float>(),
                            [=](float value) { return std::min(value, limit); });
           }});

  Session session(local_machine(discover_host(), {.cpu_devices = 2}), {.ops = ops});
  const std::vector<float> values{1, 2, 3, 4};
  const Tensor x = session.tensor(values, {4});
  const Tensor y = session.call("clamp", {x}, {{"limit", 2.5}});
  fmt::print("{}\n", fmt::join(y.read<float>(), " "));
}
