// A CPU and two GPUs compute while both directions of their links and a disk are busy. Twenty
// matrices go from the CPU's memory to each GPU, which multiplies each of them; the products come
// back, and those of the first GPU are written to storage. Meanwhile the CPU multiplies matrices of
// its own. Simulated; the machine file is in the folder of the first argument.
#include "troupe/troupe.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

namespace {

using Tensors = std::vector<Tensor>;

Tensors copies(const Tensors& of, const char* to) {
  Tensors results;
  for (const Tensor& tensor : of) results.push_back(tensor.to(to));
  return results;
}

Tensors products(Session& session, const char* device, const Tensors& of, const Tensor& by) {
  const DeviceScope on = session.on(device);
  Tensors results;
  for (const Tensor& tensor : of) results.push_back(matmul(tensor, by));
  return results;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::filesystem::path folder = argc > 1 ? argv[1] : "config/machines";
  Session session(folder / "everything.yaml", {.mode = Mode::simulate});
  const std::array gpus = {"gpu0", "gpu1"};
  const DeviceScope on_cpu = session.on("cpu");
  const Tensor x = session.uniform({2000, 2000});
  const Tensor w = session.uniform({4000, 4000});
  std::array<Tensors, 2> batches;
  for (Tensors& batch : batches) {
    for (int i = 0; i < 20; ++i) batch.push_back(session.uniform({4000, 4000}));
  }

  // Each stage waits for the one before it, or only for the tensors that it reads.
  const auto work = [&](bool stage_by_stage) {
    const auto end_stage = [&] {
      if (stage_by_stage) session.wait_all();
    };
    for (int i = 0; i < 14; ++i) matmul(x, x);
    end_stage();
    Tensors first;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const Tensors loaded = copies(batches[g], gpus[g]);
      end_stage();
      const Tensors multiplied = products(session, gpus[g], loaded, w);
      end_stage();
      const Tensors back = copies(multiplied, "cpu");
      end_stage();
      if (g == 0) first = back;
    }
    copies(first, "disk");
  };
  session.measure("one stage after the other", [&] { work(true); });
  session.measure("everything at once", [&] { work(false); });

  for (const ScenarioReport& s : session.report().scenarios) {
    fmt::print("{}: {:.3f} s, overlap {:.1f} %\n", s.name, seconds(s.makespan),
               100 * s.overlap_efficiency());
    for (const ResourceUse& use : s.resources) {
      if (use.busy.count() > 0) fmt::print("  {:16} {:3.0f} %\n", use.name, 100 * use.utilisation);
    }
  }
} catch (const std::exception& error) {
  fmt::print(stderr, "everything: {}\n", error.what());
  return 1;
}
