// An op of the program's own, called in a session.
#include "examples/custom_op/clamp.hpp"
#include "troupe/troupe.hpp"

#include <vector>

#include <fmt/format.h>

using namespace troupe;

int main() {
  OpRegistry ops = builtin_ops();
  ops.add(clamp_op());
  Session session(local_machine(discover_host(), {.cpu_devices = 2}), {.ops = ops});
  const std::vector<float> values{1, 2, 3, 4};
  const Tensor x = session.tensor(values, {4});
  const std::vector<Tensor> made = session.call_all("clamp", {x}, {{"limit", 2.5}});
  fmt::print("{}\n", fmt::join(made[0].read<float>(), " "));
  fmt::print("{}\n", fmt::join(made[1].read<float>(), " "));
}
