#include "core/backend/cuda/launch_batch.hpp"

#include "core/backend/cuda/cuda_check.hpp"
#include "core/backend/cuda/kernels/nothing.hpp"
#include "core/base/assert.hpp"

#include <cstring>

namespace troupe {

void LaunchBatch::make_chains(cudaStream_t stream) {
  for (std::size_t length = launches_max; length >= 1; length /= 2) {
    chains_.push_back(make_chain(length));
    check_cuda(cudaGraphLaunch(chains_.back().executable.get(), stream), "launching a graph");
  }
}

LaunchBatch::Chain LaunchBatch::make_chain(std::size_t length) {
  Chain chain;
  cudaGraph_t graph = nullptr;
  check_cuda(cudaGraphCreate(&graph, 0), "making a graph");
  chain.graph.reset(graph);
  cudaKernelNodeParams nothing{};
  nothing.func = const_cast<void*>(nothing_kernel());
  nothing.gridDim = nothing.blockDim = dim3(1);
  for (std::size_t i = 0; i < length; ++i) {
    cudaGraphNode_t node = nullptr;
    const cudaGraphNode_t* const before = i == 0 ? nullptr : &chain.nodes.back();
    check_cuda(cudaGraphAddKernelNode(&node, graph, before, i == 0 ? 0 : 1, &nothing),
               "adding a kernel to a graph");
    chain.nodes.push_back(node);
  }
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaGraphInstantiate(&executable, graph, 0), "preparing a graph");
  chain.executable.reset(executable);
  return chain;
}

void LaunchBatch::add(const KernelLaunch& launch) {
  TROUPE_ASSERT(!is_full());
  launches_.push_back({launch.kernel, launch.blocks, launch.threads, places_.size()});
  for (std::size_t i = 0; i < launch.bytes.size(); ++i) {
    constexpr std::size_t alignment = alignof(std::max_align_t);
    const std::size_t place = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(place + launch.bytes[i]);
    std::memcpy(bytes_.data() + place, launch.arguments[i], launch.bytes[i]);
    places_.push_back(place);
  }
}

void LaunchBatch::enqueue(std::size_t size, cudaStream_t stream) {
  pointers_.clear();
  for (const std::size_t place : places_) pointers_.push_back(bytes_.data() + place);
  try {
    std::size_t first = 0;
    for (const Chain& chain : chains_) {
      for (; size - first >= chain.nodes.size(); first += chain.nodes.size()) {
        enqueue_chain(chain, first, stream);
      }
    }
    TROUPE_ASSERT(first == size);  // there is a chain of one
  } catch (...) {
    keep(0);
    throw;
  }
  forget_first(size);
}

// What the chain was launched with before keeps its kernels and arguments.
void LaunchBatch::enqueue_chain(const Chain& chain, std::size_t first, cudaStream_t stream) {
  for (std::size_t i = 0; i < chain.nodes.size(); ++i) {
    const Held& held = launches_[first + i];
    cudaKernelNodeParams kernel{};
    kernel.func = const_cast<void*>(held.kernel);
    kernel.gridDim = dim3(held.blocks);
    kernel.blockDim = dim3(held.threads);
    kernel.kernelParams = arguments_of(first + i);
    check_cuda(cudaGraphExecKernelNodeSetParams(chain.executable.get(), chain.nodes[i], &kernel),
               "choosing a kernel of a graph");
  }
  check_cuda(cudaGraphLaunch(chain.executable.get(), stream), "launching kernels");
}

void LaunchBatch::keep(std::size_t size) {
  if (size >= launches_.size()) return;
  const std::size_t places = launches_[size].first_place;
  launches_.resize(size);
  places_.resize(places);
  if (size == 0) bytes_.clear();
}

void LaunchBatch::forget_first(std::size_t size) {
  if (size == launches_.size()) return keep(0);
  const std::size_t places = launches_[size].first_place;
  const auto behind = [](auto& all, std::size_t count) {
    return all.begin() + static_cast<std::ptrdiff_t>(count);
  };
  launches_.erase(launches_.begin(), behind(launches_, size));
  places_.erase(places_.begin(), behind(places_, places));
  for (Held& held : launches_) held.first_place -= places;
  const std::size_t unused = places_.empty() ? bytes_.size() : places_.front();  // is aligned
  bytes_.erase(bytes_.begin(), behind(bytes_, unused));
  for (std::size_t& place : places_) place -= unused;
}

}  // namespace troupe
