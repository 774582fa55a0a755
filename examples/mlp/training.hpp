// The training of the network: epochs over the digits, half of each batch for each worker.
#pragma once

#include "examples/mlp/digits.hpp"
#include "examples/mlp/network.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace mlp {

constexpr std::int64_t hidden = 64;
constexpr std::int64_t rows_of_worker = 50;
constexpr int epochs = 40;
constexpr double learning_rate = 0.5;

inline std::vector<float> small_values(std::int64_t count, unsigned seed) {
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
inline Layers train(Session& session, const Images& images, std::int64_t count,
                    const Devices& devices, std::vector<Epoch>* history = nullptr) {
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

}  // namespace mlp
