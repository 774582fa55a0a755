// The experiments: those of the textbook section "Automatic Parallelism" (Dive into Deep Learning),
// and a few more on the same ground.
#pragma once

#include "bench/overlap/bare.hpp"
#include "bench/overlap/experiment.hpp"
#include "bench/overlap/sizes.hpp"
#include "core/backend/cuda/cuda_backend.hpp"

#include <span>
#include <string>
#include <vector>

namespace troupe::bench {

// `gpus` must not be empty, and `bare` must outlive the result. Where there is one GPU, training
// has two devices on it, and says so in its title.
//
//   1         products on the CPU and on a GPU
//   2         products on two GPUs; absent if there is one
//   2-shared  products on two devices that are one GPU
//   3a, 3b    products on a GPU, each copied to the host: few large ones, many smaller ones
//   copies    copies from and to the host at once
//   small     the time of an op, with products so small that the host's time counts
//   training  a step of the training of the network in examples/mlp, by two workers
std::vector<Experiment> experiments(std::span<const CudaGpu> gpus, const Sizes& sizes,
                                    const Bare& bare);

}  // namespace troupe::bench
