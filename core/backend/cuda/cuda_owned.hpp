// What CUDA made and must be given back, as pointers that own it. They don't block, except that
// freeing memory may wait for the GPU. The GPU must be the thread's current one.
#pragma once

#include "core/backend/cuda/cuda_check.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

namespace troupe {

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* made) const {
    destroy(made);
  }
};

using OwnedStream =
    std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy<cudaStreamDestroy>>;
using OwnedEvent = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy<cudaEventDestroy>>;
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, Destroy<cudaGraphDestroy>>;
using OwnedExecutableGraph =
    std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, Destroy<cudaGraphExecDestroy>>;
using OwnedBlas = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy<cublasDestroy>>;
using OwnedSolver =
    std::unique_ptr<std::remove_pointer_t<cusolverDnHandle_t>, Destroy<cusolverDnDestroy>>;
using OwnedMemory = std::unique_ptr<std::byte, Destroy<cudaFree>>;       // of a GPU
using PinnedMemory = std::unique_ptr<std::byte, Destroy<cudaFreeHost>>;  // of the host

// The functions below throw a run Error if CUDA fails.

// A stream that waits for no other.
inline OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return OwnedStream(stream);
}

inline OwnedEvent make_event(unsigned flags = cudaEventDefault) {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, flags), "making an event");
  return OwnedEvent(event);
}

// Threads that wait for it sleep, which costs the GPU and the driver more than another event.
inline OwnedEvent make_awaited_event() {
  return make_event(cudaEventBlockingSync);
}

// Whether all that was issued before the event has ended. Doesn't block.
inline bool is_passed(cudaEvent_t event) {
  const cudaError_t status = cudaEventQuery(event);
  if (status == cudaErrorNotReady) return false;  // which CUDA doesn't keep as an error
  check_cuda(status, "asking for an event");
  return true;
}

inline PinnedMemory pin_memory(std::size_t bytes) {
  void* room = nullptr;
  check_pinned(cudaHostAlloc(&room, bytes, cudaHostAllocDefault), bytes);
  return PinnedMemory(static_cast<std::byte*>(room));
}

inline OwnedMemory allocate_memory(std::size_t bytes, std::string_view what) {
  void* room = nullptr;
  check_cuda(cudaMalloc(&room, bytes), what);
  return OwnedMemory(static_cast<std::byte*>(room));
}

}  // namespace troupe
