// Trains a network of two layers on handwritten digits, data-parallel: a parameter server and two
// workers, each a device. As in the figure of the textbook section "Automatic Parallelism" (Dive
// into Deep Learning), a worker's gradient of layer 2 is pushed, and the server updates layer 2,
// while the worker still computes its gradient of layer 1. No line says so.
//
//   mlp [DIGITS [MACHINE]]   trains on devices of this processor, or on the GPUs of a machine file
//   mlp --simulate [MACHINE] shows the timeline of one step of a larger network, on a machine with
//                            a CPU and two GPUs
#include "examples/mlp/digits.hpp"
#include "examples/mlp/network.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

using namespace troupe;
using namespace mlp;

namespace {

constexpr std::int64_t hidden = 64;
constexpr std::int64_t rows_of_worker = 50;
constexpr int epochs = 40;
constexpr double learning_rate = 0.5;

std::vector<float> small_values(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = (static_cast<float>(random() >> 8) * 0x1p-24F - 0.5F) * 0.3F;
  }
  return values;
}

// What the network gives after an epoch: its loss on images that it has learned from, and its
// outputs for those that it hasn't seen.
struct Epoch {
  Tensor loss;
  Tensor outputs;
};

// Appends to `history`, if there is one. Doesn't wait for anything.
Layers train(Session& session, const Images& images, std::int64_t count, const Devices& devices,
             std::vector<Epoch>* history = nullptr) {
  const DeviceScope on_server = session.on(devices.server);
  std::vector<std::array<Batch, 2>> batches;
  for (std::int64_t first = 0; first + 2 * rows_of_worker <= count; first += 2 * rows_of_worker) {
    batches.push_back({rows(session, images, first, rows_of_worker),
                       rows(session, images, first + rows_of_worker, rows_of_worker)});
  }
  Parameters w = pull({session.tensor(small_values(pixels * hidden, 2), {pixels, hidden}),
                       session.tensor(small_values(hidden * classes, 3), {hidden, classes})},
                      devices);
  const Batch seen = rows(session, images, 0, count);
  const Batch unseen = rows(session, images, count, images.size() - count);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const auto& batch : batches) w = step(session, devices, w, batch, learning_rate);
    if (history == nullptr) continue;
    history->push_back(
        {softmax_cross_entropy(logits(seen.x, w.server), seen.labels), logits(unseen.x, w.server)});
  }
  return w.server;
}

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
