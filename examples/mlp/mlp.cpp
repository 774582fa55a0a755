// Trains a network of two layers on handwritten digits, data-parallel: a parameter server and two
// workers, each a device. As in the figure of the textbook section "Automatic Parallelism" (Dive
// into Deep Learning), a worker's gradient of layer 2 is pushed, and the server updates layer 2,
// while the worker still computes its gradient of layer 1. No line says so.
//
//   mlp [DIGITS [MACHINE]]   trains on devices of this processor, or on the GPUs of a machine file
//   mlp --simulate [MACHINE] shows the timeline of one step of a larger network, on a machine with
//                            a CPU and two GPUs
#include "examples/mlp/digits.hpp"
#include "examples/mlp/training.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

using namespace troupe;
using namespace mlp;

namespace {

// The server is a CPU device. The workers are two GPUs, or the only one, where there are GPUs.
Devices choose_devices(const Machine& machine) {
  if (!machine.find_device("gpu0")) return {"cpu0", {"cpu1", "cpu2"}};
  return {"cpu0", {"gpu0", machine.find_device("gpu1") ? "gpu1" : "gpu0"}};
}

void simulate(const std::filesystem::path& machine_file) {
  Session session(machine_file, {.mode = Mode::simulate});
  measure_step(session, {"cpu", {"gpu0", "gpu1"}});
  fmt::print("{}", report_text(session.report()));
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1 && std::string_view(argv[1]) == "--simulate") {
    simulate(argc > 2 ? argv[2] : "config/machines/everything.yaml");
    return 0;
  }
  const Images images = read_digits(argc > 1 ? argv[1] : "examples/mlp/digits.csv");
  const std::int64_t count = images.size() * 8 / 10;
  const auto open = [&] {
    return argc > 2 ? Session(std::filesystem::path(argv[2]))
                    : Session(local_machine(discover_host(), {.cpu_devices = 3}));
  };
  Session session = open();
  const Devices devices = choose_devices(session.machine());
  std::vector<Epoch> history;
  const Layers w = train(session, images, count, devices, &history);
  double share = 0;
  for (std::size_t i = 0; i < history.size(); ++i) {
    share = accuracy(images, count, history[i].outputs.read<float>());
    fmt::print(stderr, "epoch {:2}: loss {:.4f}, accuracy {:.1f} %\n", i + 1,
               history[i].loss.read<float>()[0], 100 * share);
  }

  Session serial = open();
  const char* const one = devices.workers[0];
  const Layers s = train(serial, images, count, {one, {one, one}});
  const bool equal =
      w.w1.read<float>() == s.w1.read<float>() && w.w2.read<float>() == s.w2.read<float>();
  fmt::print("accuracy on images that it hasn't seen: {}\n",
             share >= 0.95 ? "at least 95 %" : "BELOW 95 %");
  fmt::print("parameters: {} to those of one device\n", equal ? "equal" : "NOT EQUAL");
  return equal && share >= 0.95 ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "mlp: {}\n", error.what());
  return 1;
}
