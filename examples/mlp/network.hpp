// A network of two layers, and a step of its training by a parameter server and two workers, which
// are devices. The steps are those of the figure in the textbook section "Automatic Parallelism"
// (Dive into Deep Learning).
#pragma once

#include "troupe/troupe.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlp {

using troupe::DeviceScope;
using troupe::Session;
using troupe::Tensor;

struct Devices {
  const char* server;
  std::array<const char*, 2> workers;
};

// What a worker reads in one step: a row of `x` for each sample, and its class.
struct Batch {
  Tensor x;
  Tensor labels;
};

// The parameters of both layers, or their gradients.
struct Layers {
  Tensor w1;
  Tensor w2;
};

// The server's parameters, and the copies that the workers compute with.
struct Parameters {
  Layers server;
  std::array<Layers, 2> workers;
};

// Copies the server's parameters to the workers.
inline Parameters pull(const Layers& w, const Devices& devices) {
  const auto copy = [&](const char* worker) { return Layers{w.w1.to(worker), w.w2.to(worker)}; };
  return {w, {copy(devices.workers[0]), copy(devices.workers[1])}};
}

inline Tensor logits(const Tensor& x, const Layers& w) {
  return matmul(relu(matmul(x, w.w1)), w.w2);
}

inline Layers gradients(const Batch& batch, const Layers& w) {
  const Tensor h = matmul(batch.x, w.w1);
  const Tensor r = relu(h);
  const Tensor o_grad = softmax_cross_entropy_grad(matmul(r, w.w2), batch.labels);
  const Tensor w2_grad = matmul(r, o_grad, true, false);
  const Tensor h_grad = relu_grad(matmul(o_grad, w.w2, false, true), h);
  return {matmul(batch.x, h_grad, true, false), w2_grad};
}

// One step: the workers compute the gradients of their batches and push them to the server, which
// updates its parameters, and the workers pull these. Nothing says what runs at the same time.
inline Parameters step(Session& session, const Devices& devices, const Parameters& w,
                       const std::array<Batch, 2>& batches, double learning_rate) {
  std::array<Layers, 2> pushed;
  for (std::size_t k = 0; k < 2; ++k) {
    const DeviceScope on_worker = session.on(devices.workers[k]);
    const Batch own{batches[k].x.to(devices.workers[k]), batches[k].labels.to(devices.workers[k])};
    const Layers g = gradients(own, w.workers[k]);
    pushed[k] = {g.w1.to(devices.server), g.w2.to(devices.server)};
  }
  const DeviceScope on_server = session.on(devices.server);
  const double rate = -learning_rate / 2;
  return pull({axpy(rate, pushed[0].w1 + pushed[1].w1, w.server.w1),
               axpy(rate, pushed[0].w2 + pushed[1].w2, w.server.w2)},
              devices);
}

struct StepSizes {
  std::int64_t rows = 24'576;  // of each worker
  std::int64_t inputs = 64;
  std::int64_t hidden = 4'096;
  std::int64_t outputs = 4'096;
};

// Measures one step of a network; by default one so large that computing outweighs launches and
// latencies. There is a step before it, which warms up.
inline const troupe::ScenarioReport& measure_step(Session& session, const Devices& devices,
                                                  const StepSizes& sizes = {}) {
  const auto [rows, inputs, hidden, outputs] = sizes;
  const DeviceScope on_server = session.on(devices.server);
  const std::vector<float> x(static_cast<std::size_t>(rows * inputs));
  const std::vector<float> labels(static_cast<std::size_t>(rows));
  const troupe::Shape x_shape{rows, inputs};
  const troupe::Shape labels_shape{rows};
  const auto next_batch = [&] {
    return Batch{session.tensor(x, x_shape), session.tensor(labels, labels_shape)};
  };
  const std::array<Batch, 2> batches{next_batch(), next_batch()};
  Parameters w = pull({session.zeros({inputs, hidden}), session.zeros({hidden, outputs})}, devices);
  return session.measure("one step", [&] { w = step(session, devices, w, batches, 0.5); });
}

}  // namespace mlp
