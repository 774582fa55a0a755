// Eight products on one device. Are they computed at the same time? On a device with several
// streams they are, if none of them reads the result of another one. What that gains: while one
// stream launches a product, the others compute. What it costs: a stream is a part of the device,
// so products that wait for each other take longer. Simulated on the chapter's GPU, whose streams
// share its rate.
#include "troupe/troupe.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/format.h>

using namespace troupe;

namespace {

constexpr int products = 8;

Machine one_gpu(int streams) {
  Machine machine;
  machine.name = "one GPU";
  machine.memories = {{.name = "vram", .size_bytes = std::uint64_t{16} << 30}};
  machine.devices = {{.name = "gpu",
                      .kind = DeviceKind::gpu,
                      .memory = machine.find_memory("vram"),
                      .streams = streams,
                      .launch = std::chrono::microseconds(10),
                      .op_flops = {{"matmul", 14.4e12 / streams}},
                      .bandwidth = 500e9 / streams}};
  return machine;
}

// The largest number of ops that were under way at the same time.
std::ptrdiff_t most_at_once(std::span<const Span> spans) {
  std::ptrdiff_t most = 0;
  for (const Span& s : spans) {
    most = std::max(most, std::count_if(spans.begin(), spans.end(), [&](const Span& other) {
                      return other.start <= s.start && s.start < other.end;
                    }));
  }
  return most;
}

void print(const ScenarioReport& report) {
  fmt::print("  {:11} {:6.1f} us, {} at once", report.name, 1e6 * seconds(report.makespan),
             most_at_once(report.timeline.spans));
}

}  // namespace

int main() {
  fmt::print("{} products of 500 x 500 matrices\n", products);
  for (const int streams : {1, 2, 4}) {
    Session session(one_gpu(streams), {.mode = Mode::simulate});
    const Tensor x = session.uniform({500, 500});
    fmt::print("{} {}", streams, streams == 1 ? "stream: " : "streams:");
    print(session.measure("independent", [&] {
      for (int i = 0; i < products; ++i) matmul(x, x);
    }));
    print(session.measure("in a chain", [&] {
      Tensor y = x;
      for (int i = 0; i < products; ++i) y = matmul(y, x);
    }));
    fmt::print("\n");
  }
}
