#include "core/backend/cuda/cuda_space.hpp"

#include "core/backend/cuda/cuda_check.hpp"
#include "core/backend/cuda/cuda_owned.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/memory/host_space.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace troupe {
namespace {

// Of one size class there are buffers of `granularity` times a number.
constexpr std::uint64_t granularity = 512;

std::uint64_t capacity_of(std::uint64_t bytes) {
  return std::max(granularity, (bytes + granularity - 1) / granularity * granularity);
}

// Copies between a GPU and memory that isn't pinned, by way of pinned memory.
class Bounce {
 public:
  explicit Bounce(int gpu) {
    check_cuda(cudaSetDevice(gpu), "choosing a GPU");
    room_ = pin_memory(piece_bytes);
    stream_ = make_stream();
  }

  void read(const std::byte* from, std::byte* to, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
      const std::uint64_t piece = std::min(piece_bytes, bytes - at);
      copy(room_.get(), from + at, piece, cudaMemcpyDeviceToHost);
      std::memcpy(to + at, room_.get(), piece);
    }
  }
  void write(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
      const std::uint64_t piece = std::min(piece_bytes, bytes - at);
      std::memcpy(room_.get(), from + at, piece);
      copy(to + at, room_.get(), piece, cudaMemcpyHostToDevice);
    }
  }

 private:
  static constexpr std::uint64_t piece_bytes = 4 << 20;

  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copying a tensor");
    check_cuda(cudaStreamSynchronize(stream_.get()), "copying a tensor");
  }

  PinnedMemory room_;
  OwnedStream stream_;
};

class GpuSpace final : public MemorySpace {
 public:
  explicit GpuSpace(int gpu) : gpu_(gpu), bounce_(gpu) {}
  // Tensors may still be held: a session ends with those that its program has kept.
  ~GpuSpace() override {
    cudaSetDevice(gpu_);
    for (std::byte* const buffer : allocated_) cudaFree(buffer);
  }

  std::optional<std::uint64_t> free_bytes() const override {
    check_cuda(cudaSetDevice(gpu_), "choosing a GPU");
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for the memory of a GPU");
    return free;
  }

  std::byte* take(ReplicaId, std::uint64_t bytes) override {
    const std::uint64_t capacity = capacity_of(bytes);
    const std::lock_guard lock(mutex_);
    std::vector<std::byte*>& free = free_[capacity];
    if (free.empty()) return allocate(capacity);
    std::byte* const buffer = free.back();
    free.pop_back();
    return buffer;
  }
  void give(const Held& held) noexcept override {
    const std::lock_guard lock(mutex_);
    free_[capacity_of(held.bytes)].push_back(held.buffer);
  }
  void reserve(std::uint64_t bytes, std::uint64_t count) override {
    const std::uint64_t capacity = capacity_of(bytes);
    const std::lock_guard lock(mutex_);
    while (free_[capacity].size() < count) {
      std::byte* const buffer = try_allocate(capacity);
      if (buffer == nullptr) return;  // take() says so, if it is needed
      free_[capacity].push_back(buffer);
    }
  }

  void read(const Held& held, std::byte* out) const override {
    const std::lock_guard lock(bouncing_);
    check_cuda(cudaSetDevice(gpu_), "choosing a GPU");
    bounce_.read(held.buffer, out, held.bytes);
  }
  void write(const Held& held, const std::byte* values) override {
    const std::lock_guard lock(bouncing_);
    check_cuda(cudaSetDevice(gpu_), "choosing a GPU");
    bounce_.write(held.buffer, values, held.bytes);
  }
  Digest digest(const Held& held) const override {
    std::vector<std::byte> values(held.bytes);
    read(held, values.data());
    return digest_of(values);
  }

 private:
  std::byte* try_allocate(std::uint64_t capacity) {
    check_cuda(cudaSetDevice(gpu_), "choosing a GPU");
    void* room = nullptr;
    const cudaError_t status = cudaMalloc(&room, capacity);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // is handled
      return nullptr;
    }
    check_cuda(status, "allocating memory");
    auto* const buffer = static_cast<std::byte*>(room);
    allocated_.insert(buffer);
    return buffer;
  }
  std::byte* allocate(std::uint64_t capacity) {
    if (std::byte* const buffer = try_allocate(capacity)) return buffer;
    trim();
    if (std::byte* const buffer = try_allocate(capacity)) return buffer;
    throw run_error(fmt::format("GPU {} has no memory for a tensor of {}: {} are free", gpu_,
                                format_bytes(capacity), format_bytes(free_bytes().value_or(0))),
                    "end other processes that use the GPU, or keep fewer tensors at once");
  }
  void trim() {
    for (auto& [capacity, buffers] : free_) {
      for (std::byte* const buffer : buffers) {
        allocated_.erase(buffer);
        cudaFree(buffer);
      }
      buffers.clear();
    }
  }

  const int gpu_;
  mutable std::mutex bouncing_;  // apart: a long copy keeps nobody from allocating
  mutable Bounce bounce_;
  std::mutex mutex_;  // guards what follows
  std::set<std::byte*> allocated_;
  std::map<std::uint64_t, std::vector<std::byte*>> free_;  // by capacity
};

}  // namespace

std::unique_ptr<MemorySpace> make_gpu_space(int gpu) {
  return std::make_unique<GpuSpace>(gpu);
}

std::unique_ptr<MemorySpace> make_pinned_space(int gpu) {
  auto pool = std::make_shared<BufferPool>(
      &BufferPool::usable_host_bytes,
      Pinning{.pin =
                  [gpu](std::byte* pages, std::uint64_t bytes) {
                    check_cuda(cudaSetDevice(gpu), "choosing a GPU");
                    check_cuda(cudaHostRegister(pages, bytes, cudaHostRegisterPortable),
                               "pinning memory of the host");
                  },
              .unpin =
                  [gpu](std::byte* pages) {
                    cudaSetDevice(gpu);
                    cudaHostUnregister(pages);
                  }});
  return make_host_space(std::move(pool));
}

}  // namespace troupe
