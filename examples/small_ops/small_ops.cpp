// For which sizes of its ops does parallelism pay? Sixteen independent products, simulated for
// several sizes. On one GPU, streams pay for small ones: while one stream launches a product, the
// others compute. A second GPU sends its results to the first one over a link. It pays where
// computing outweighs copying, and for the smallest ones, where only launches count.
#include "troupe/troupe.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

namespace {

// The chapter's GPU, so many times. The streams of a GPU share its rate.
Machine gpus(int count, int streams) {
  Machine machine;
  machine.name = "GPUs";
  for (int i = 0; i < count; ++i) {
    machine.memories.push_back(
        {.name = fmt::format("vram{}", i), .size_bytes = std::uint64_t{16} << 30});
    machine.devices.push_back({.name = fmt::format("gpu{}", i),
                               .kind = DeviceKind::gpu,
                               .memory = machine.find_memory(machine.memories.back().name),
                               .streams = streams,
                               .launch = std::chrono::microseconds(10),
                               .op_flops = {{"matmul", 14.4e12 / streams}},
                               .bandwidth = 500e9 / streams});
  }
  if (count == 2) {
    machine.links = {{.name = "pcie",
                      .a = machine.find_memory("vram0"),
                      .b = machine.find_memory("vram1"),
                      .bandwidth = {12e9, 12e9},
                      .latency = std::chrono::microseconds(10)}};
  }
  return machine;
}

double microseconds(const Machine& machine, std::int64_t extent) {
  Session session(machine, {.mode = Mode::simulate});
  const Tensor x = session.uniform({extent, extent});
  const ScenarioReport& report = session.measure("products", [&] {
    for (std::size_t i = 0; i < 16; ++i) {
      const DeviceScope on = session.on(machine.devices[i % machine.devices.size()].name);
      matmul(x, x).to("gpu0");
    }
  });
  return 1e6 * seconds(report.makespan);
}

}  // namespace

int main() {
  const Machine one = gpus(1, 1);
  const Machine streamed = gpus(1, 4);
  const Machine two = gpus(2, 1);
  std::vector<std::int64_t> streams_pay;
  std::vector<std::int64_t> two_pay;
  fmt::print("16 products      one GPU   4 streams    two GPUs\n");
  for (std::int64_t extent = 64; extent <= 4096; extent *= 2) {
    const double alone = microseconds(one, extent);
    const double in_streams = microseconds(streamed, extent);
    const double on_two = microseconds(two, extent);
    if (in_streams < 0.95 * alone) streams_pay.push_back(extent);
    if (on_two < 0.95 * alone) two_pay.push_back(extent);
    fmt::print("{:4} x {:4} {:10.0f} us {:8.0f} us {:8.0f} us\n", extent, extent, alone, in_streams,
               on_two);
  }
  fmt::print("At least 5 % are gained\n  by streams at {}\n  by a second GPU at {}\n",
             fmt::join(streams_pay, ", "), fmt::join(two_pay, ", "));
}
