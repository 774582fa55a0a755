// How much would a faster link help? Simulates the chapter's experiment 3a (ten products of
// 6000 x 6000 matrices on a GPU, each copied to the host) for links of several speeds. The time is
// virtual: no GPU is needed, and the same input always gives the same times.
#include "troupe/troupe.hpp"

#include <vector>

#include <fmt/format.h>

using namespace troupe;

namespace {

Machine machine_with_link(double bytes_per_s) {
  Machine machine;
  machine.name = "one GPU";
  machine.memories = {{.name = "host", .size_bytes = std::uint64_t{64} << 30},
                      {.name = "vram", .size_bytes = std::uint64_t{16} << 30}};
  machine.devices = {{.name = "gpu",
                      .kind = DeviceKind::gpu,
                      .memory = machine.find_memory("vram"),
                      .op_flops = {{"matmul", 14e12}}}};
  machine.links = {{.name = "pcie",
                    .a = machine.find_memory("host"),
                    .b = machine.find_memory("vram"),
                    .bandwidth = {bytes_per_s, bytes_per_s}}};
  return machine;
}

// Copies begin only after the last product with `waits`.
Duration makespan(const Machine& machine, bool waits) {
  Session session(machine, {.mode = Mode::simulate});
  const DeviceScope on_gpu = session.on("gpu");
  const Tensor x = session.uniform({6000, 6000});
  const ScenarioReport& report = session.measure("3a", [&] {
    std::vector<Tensor> products;
    for (int i = 0; i < 10; ++i) products.push_back(matmul(x, x));
    if (waits) session.wait_all();
    for (const Tensor& product : products) product.to("host");
  });
  return report.makespan;
}

}  // namespace

int main() {
  fmt::print("link         then copy   pipelined\n");
  for (const double gigabytes_per_s : {1.44, 3.0, 6.0, 12.0, 24.0}) {
    const Machine machine = machine_with_link(gigabytes_per_s * 1e9);
    fmt::print("{:5.2f} GB/s   {:6.3f} s    {:6.3f} s\n", gigabytes_per_s,
               seconds(makespan(machine, true)), seconds(makespan(machine, false)));
  }
}
