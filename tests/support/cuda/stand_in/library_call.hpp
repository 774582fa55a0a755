// What calls of cuBLAS and of cuSOLVER have in common: a handle with a stream, and works that read
// and write matrices there.
#pragma once

#include "tests/support/cuda/stand_in/api.hpp"

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>

namespace troupe::testing {

// What is behind a handle of either library.
struct LibraryHandle {
  int device = 0;
  cudaStream_t stream = nullptr;
  std::byte* workspace = nullptr;  // of the device; every work of the handle may write to it
  std::size_t workspace_bytes = 0;
};

// A matrix of `columns` columns, `leading` elements apart.
inline std::size_t bytes_of_columns(int rows, int columns, int leading, std::size_t element) {
  if (rows <= 0 || columns <= 0) return 0;
  const auto before = static_cast<std::size_t>(columns - 1) * static_cast<std::size_t>(leading);
  return (before + static_cast<std::size_t>(rows)) * element;
}

// One work that is being put together.
class LibraryWork {
 public:
  LibraryWork(Engine& engine, const LibraryHandle& handle, std::string_view what)
      : engine_(engine), stream_(engine.stream(handle.stream, what)) {
    require_kernel_image(engine, handle.device);
    require(stream_->device == handle.device, cudaErrorInvalidResourceHandle);
    work_.what = what;
    work_.is_kernel = true;
    if (handle.workspace_bytes > 0) writes(handle.workspace, handle.workspace_bytes);
  }

  // Both return where the bytes of the device are.
  template <class T>
  const T* reads(const T* address, std::size_t bytes) {
    return use(address, bytes, true, false);
  }
  template <class T>
  T* writes(T* address, std::size_t bytes, bool also_reads = false) {
    return const_cast<T*>(use(address, bytes, also_reads, true));
  }
  void enqueue(std::function<void()> run) {
    work_.run = std::move(run);
    engine_.enqueue(*stream_, std::move(work_));
  }

 private:
  template <class T>
  const T* use(const T* address, std::size_t bytes, bool reads, bool writes) {
    if (bytes == 0) return address;
    engine_.reachable(stream_->device, address, bytes, work_.what);
    work_.accesses.push_back({.begin = reinterpret_cast<const std::byte*>(address),
                              .bytes = bytes,
                              .reads = reads,
                              .writes = writes});
    return reinterpret_cast<const T*>(engine_.memory.bytes_at(address));
  }

  Engine& engine_;
  std::shared_ptr<CUstream_st> stream_;
  Work work_;
};

// Makes a handle, for which its library takes so much memory of the device.
template <class Handle>
Handle* make_library_handle(Engine& engine, std::size_t bytes = 0) {
  require(!engine.control.is_out_of_memory(), cudaErrorMemoryAllocation);
  require(engine.memory.take(current_device(), bytes), cudaErrorMemoryAllocation);
  auto made = std::make_shared<Handle>();
  made->device = current_device();
  return engine.handles.add(std::move(made));
}

// Returns what is behind a handle; else reports the handle and throws.
template <class Handle>
Handle& expect_library_handle(Engine& engine, Handle* handle, std::string_view what) {
  const auto found = engine.handles.find(handle);
  if (found != nullptr) return *found;
  engine.control.fail(std::string(what) + " uses a handle that doesn't exist");
  throw CudaFailure{cudaErrorInvalidResourceHandle};
}

}  // namespace troupe::testing
