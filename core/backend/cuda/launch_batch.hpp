// Launches that go to a stream together: a launch of its own costs the host as much as a short
// kernel costs the GPU (docs/decisions/0051-launched-together.md).
#pragma once

#include "core/backend/cuda/cuda_owned.hpp"
#include "core/backend/cuda/kernel_launch.hpp"

#include <cstddef>
#include <vector>

#include <cuda_runtime_api.h>

namespace troupe {

// Launches are held back until enqueue(), which gives them to the stream as CUDA graphs: chains of
// kernels that were made before, and get other kernels and arguments each time. The GPU must be the
// thread's current one.
class LaunchBatch {
 public:
  static constexpr std::size_t launches_max = 16;

  // Makes the chains, and launches each once, as that takes longer for the first time. Must be
  // called before anything is added. Throws a run Error if CUDA fails.
  void make_chains(cudaStream_t stream);

  std::size_t size() const { return launches_.size(); }
  bool is_full() const { return launches_.size() == launches_max; }
  // There must be room. Copies the arguments.
  void add(const KernelLaunch& launch);
  // Keeps the first `size` that were added.
  void keep(std::size_t size);
  // Enqueues the first `size` that were added, in that order, and forgets them. Throws a run Error
  // if CUDA fails; all of them are forgotten, too.
  void enqueue(std::size_t size, cudaStream_t stream);

 private:
  // Its arguments are in bytes_, where places_ says.
  struct Held {
    const void* kernel;
    unsigned blocks;
    unsigned threads;
    std::size_t first_place;
  };
  // Kernels of which each waits for the one before.
  struct Chain {
    OwnedGraph graph;
    OwnedExecutableGraph executable;
    std::vector<cudaGraphNode_t> nodes;
  };

  void forget_first(std::size_t size);
  static Chain make_chain(std::size_t length);
  // `first`: among launches_.
  void enqueue_chain(const Chain& chain, std::size_t first, cudaStream_t stream);
  void** arguments_of(std::size_t launch) {
    return pointers_.data() + launches_[launch].first_place;
  }

  std::vector<Chain> chains_;  // of 16, 8, 4, 2 and 1
  std::vector<Held> launches_;
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> places_;
  std::vector<void*> pointers_;  // to the places, while they are enqueued
};

}  // namespace troupe
