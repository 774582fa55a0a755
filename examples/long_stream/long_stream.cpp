// A computation of unlimited length: eight vectors, each scaled 50,000 times. Work begins with the
// first call, and what has been computed is forgotten, so that memory doesn't grow with the number
// of steps.
#include "troupe/troupe.hpp"

#include <vector>

#include <fmt/format.h>

using namespace troupe;

int main() {
  Machine machine;
  machine.name = "two devices";
  machine.memories = {{.name = "ram", .size_bytes = std::uint64_t{1} << 30}};
  const MemoryId ram = machine.find_memory("ram");
  machine.devices = {{.name = "cpu0", .memory = ram}, {.name = "cpu1", .memory = ram}};
  Session session(machine);

  constexpr int columns = 8;
  constexpr int steps = 50'000;
  std::vector<Tensor> vectors;
  for (int i = 0; i < columns; ++i) vectors.push_back(session.uniform({64}, i));
  for (int t = 0; t < steps; ++t) {
    for (int i = 0; i < columns; ++i) {
      const DeviceScope on = session.on(i < columns / 2 ? "cpu0" : "cpu1");
      Tensor& vector = vectors[static_cast<std::size_t>(i)];
      vector = 0.999 * vector;
    }
  }
  session.wait_all();
  fmt::print("{} vectors scaled {} times: done\n", columns, steps);
}
