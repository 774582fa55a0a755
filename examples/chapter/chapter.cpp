// The experiments of the textbook section "Automatic Parallelism" (Dive into Deep Learning), as
// programs: ordinary calls, nothing about scheduling. Simulated on the chapter's machines, whose
// files are in the folder of the first argument.
#include "troupe/troupe.hpp"

#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

namespace {

Session machine(const std::filesystem::path& folder, const char* name) {
  return Session(folder / name, {.mode = Mode::simulate});
}

void print(const ScenarioReport& report) {
  fmt::print("  {:24} {:.4f} s, overlap {:.1f} %\n", report.name, seconds(report.makespan),
             100 * report.overlap_efficiency());
}

std::vector<Tensor> run(Session& session, const char* device, const Tensor& x, int count) {
  const DeviceScope on = session.on(device);
  std::vector<Tensor> y;
  for (int i = 0; i < count; ++i) y.push_back(matmul(x, x));
  return y;
}

Tensor uniform(Session& session, const char* device, std::int64_t extent) {
  const DeviceScope on = session.on(device);
  return session.uniform({extent, extent});
}

// Two devices at once: each `count` products.
void two_devices(Session session, const char* a, std::int64_t a_extent, const char* b,
                 std::int64_t b_extent, int count) {
  const Tensor x = uniform(session, a, a_extent);
  const Tensor y = uniform(session, b, b_extent);
  print(session.measure(a, [&] { run(session, a, x, count); }));
  print(session.measure(b, [&] { run(session, b, y, count); }));
  print(session.measure("both", [&] {
    run(session, a, x, count);
    run(session, b, y, count);
  }));
}

// A device computes while its results are copied to the host.
void compute_and_copy(Session session, const char* device, std::int64_t extent, int count) {
  const Tensor x = uniform(session, device, extent);
  print(session.measure("run", [&] { run(session, device, x, count); }));
  print(session.measure("run, then copy", [&] {
    const std::vector<Tensor> results = run(session, device, x, count);
    session.wait_all();
    for (const Tensor& y : results) y.to("cpu");
  }));
  print(session.measure("run and copy", [&] {
    for (const Tensor& y : run(session, device, x, count)) y.to("cpu");
  }));
}

}  // namespace

int main(int argc, char** argv) try {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "config/machines";
  fmt::print("1: a CPU and a GPU (published: 0.3139, 0.2995, 0.3148 s)\n");
  two_devices(machine(folder, "chapter-1.yaml"), "cpu", 2000, "gpu", 6000, 10);
  fmt::print("2: two GPUs (published: 0.2816, 0.2788 s)\n");
  two_devices(machine(folder, "chapter-2.yaml"), "gpu1", 4000, "gpu2", 4000, 50);
  fmt::print("3a: a GPU computes and copies (published: 0.3089 s, both 1.0636 s)\n");
  compute_and_copy(machine(folder, "chapter-3a.yaml"), "gpu", 6000, 10);
  fmt::print("3b: the same with smaller matrices (published: 1.4409, at once 1.1472 s)\n");
  compute_and_copy(machine(folder, "chapter-3b.yaml"), "gpu", 4000, 50);
} catch (const std::exception& error) {
  fmt::print(stderr, "chapter: {}\n", error.what());
  return 1;
}
