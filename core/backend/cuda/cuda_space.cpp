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
    choose_gpu(gpu);
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

class GpuSpace;

// Of all GPUs. Locked before the spaces' own mutexes.
struct Spaces {
  std::mutex mutex;
  std::set<GpuSpace*> all;
};
// Never destroyed: spaces of static sessions may outlive other static objects.
Spaces& spaces() {
  static Spaces& spaces = *new Spaces;
  return spaces;
}

class GpuSpace final : public MemorySpace {
 public:
  GpuSpace(int gpu, std::uint64_t bytes_max) : gpu_(gpu), bytes_max_(bytes_max), bounce_(gpu) {
    const std::lock_guard lock(spaces().mutex);
    spaces().all.insert(this);
  }
  // Tensors may still be held: a session ends with those that its program has kept.
  ~GpuSpace() override {
    {
      const std::lock_guard lock(spaces().mutex);
      spaces().all.erase(this);
    }
    cudaSetDevice(gpu_);
    for (const auto& [buffer, capacity] : allocated_) cudaFree(buffer);
  }

  int gpu() const { return gpu_; }

  std::optional<std::uint64_t> free_bytes() const override {
    choose_gpu(gpu_);
    std::size_t free = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "asking for the memory of a GPU");
    return free;
  }

  std::byte* take(ReplicaId, std::uint64_t bytes) override {
    const std::uint64_t capacity = capacity_of(bytes);
    if (std::byte* const buffer = try_take(capacity)) return buffer;
    free_kept_memory(gpu_);
    if (std::byte* const buffer = try_take(capacity)) return buffer;
    throw run_error(fmt::format("GPU {} has no memory for a tensor of {}: {} are free", gpu_,
                                format_bytes(capacity), format_bytes(free_bytes().value_or(0))),
                    "end other processes that use the GPU, or keep fewer tensors at once");
  }
  void give(const Held& held) noexcept override {
    const std::lock_guard lock(mutex_);
    kept_[capacity_of(held.bytes)].buffers.push_back(held.buffer);
  }
  // Room for one of each size comes first. The rest stays below bytes_max_, and takes nothing from
  // the other sizes that are needed.
  void reserve(std::span<const Need> needs) override {
    const std::lock_guard lock(mutex_);
    ++round_;
    for (auto& [capacity, kept] : kept_) kept.wanted = 0;  // if the last call failed
    for (const Need& need : needs) {
      Kept& kept = kept_[capacity_of(need.bytes)];
      kept.used_at = round_;
      kept.wanted += need.count;
    }
    for (const bool is_first : {true, false}) {
      for (const Need& need : needs) {
        const std::uint64_t capacity = capacity_of(need.bytes);
        Kept& kept = kept_[capacity];
        const std::uint64_t count =
            is_first ? std::min<std::uint64_t>(kept.wanted, 1) : kept.wanted;
        while (kept.buffers.size() < count && make_way(capacity)) {
          std::byte* const buffer = try_allocate(capacity);
          if (buffer == nullptr) break;  // take() says so, if it is needed
          kept.buffers.push_back(buffer);
        }
      }
    }
    for (auto& [capacity, kept] : kept_) kept.wanted = 0;
  }

  void read(const Held& held, std::byte* out) const override {
    const std::lock_guard lock(bouncing_);
    choose_gpu(gpu_);
    bounce_.read(held.buffer, out, held.bytes);
  }
  void write(const Held& held, std::uint64_t offset, std::span<const std::byte> values) override {
    const std::lock_guard lock(bouncing_);
    choose_gpu(gpu_);
    bounce_.write(held.buffer + offset, values.data(), values.size());
  }
  Digest digest(const Held& held) const override {
    std::vector<std::byte> values(held.bytes);
    read(held, values.data());
    return digest_of(values);
  }

  void free_kept() {
    const std::lock_guard lock(mutex_);
    cudaSetDevice(gpu_);
    for (auto& [capacity, kept] : kept_) {
      while (!kept.buffers.empty()) free_one(kept, capacity);
    }
  }

 private:
  // Buffers of one capacity that no tensor is in.
  struct Kept {
    std::vector<std::byte*> buffers;
    std::uint64_t used_at = 0;  // a round_
    std::uint64_t wanted = 0;   // by reserve(), while it is under way
  };

  // Null: there is no memory.
  std::byte* try_take(std::uint64_t capacity) {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[capacity];
    kept.used_at = round_;
    if (kept.buffers.empty()) {
      make_way(capacity);  // if it can't, tensors of all sizes are in use
      return try_allocate(capacity);
    }
    std::byte* const buffer = kept.buffers.back();
    kept.buffers.pop_back();
    return buffer;
  }
  // Whether so many bytes more are allowed, after buffers that aren't wanted have been freed: those
  // of the sizes first that have been unused for longest. Freeing one waits for the GPU.
  bool make_way(std::uint64_t capacity) {
    while (bytes_ + capacity > bytes_max_) {
      std::pair<const std::uint64_t, Kept>* oldest = nullptr;
      for (auto& entry : kept_) {
        if (entry.second.buffers.size() <= entry.second.wanted) continue;
        if (oldest == nullptr || entry.second.used_at < oldest->second.used_at) oldest = &entry;
      }
      if (oldest == nullptr) return false;
      choose_gpu(gpu_);
      free_one(oldest->second, oldest->first);
    }
    return true;
  }
  void free_one(Kept& kept, std::uint64_t capacity) {
    cudaFree(kept.buffers.back());
    allocated_.erase(kept.buffers.back());
    kept.buffers.pop_back();
    bytes_ -= capacity;
  }
  std::byte* try_allocate(std::uint64_t capacity) {
    choose_gpu(gpu_);
    void* room = nullptr;
    const cudaError_t status = cudaMalloc(&room, capacity);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // is handled
      return nullptr;
    }
    check_cuda(status, "allocating memory");
    auto* const buffer = static_cast<std::byte*>(room);
    allocated_.emplace(buffer, capacity);
    bytes_ += capacity;
    return buffer;
  }

  const int gpu_;
  const std::uint64_t bytes_max_;
  mutable std::mutex bouncing_;  // apart: a long copy keeps nobody from allocating
  mutable Bounce bounce_;
  std::mutex mutex_;                               // guards what follows
  std::map<std::byte*, std::uint64_t> allocated_;  // with capacities
  std::uint64_t bytes_ = 0;                        // of them
  std::map<std::uint64_t, Kept> kept_;             // by capacity
  std::uint64_t round_ = 0;                        // of reserve()
};

}  // namespace

std::unique_ptr<MemorySpace> make_gpu_space(int gpu, std::uint64_t bytes_max) {
  return std::make_unique<GpuSpace>(gpu, bytes_max);
}

void free_kept_memory(int gpu) {
  const std::lock_guard lock(spaces().mutex);
  for (GpuSpace* const space : spaces().all) {
    if (space->gpu() == gpu) space->free_kept();
  }
}

OwnedMemory allocate_on(int gpu, std::size_t bytes, std::string_view what) {
  void* room = nullptr;
  check_cuda(with_kept_memory(gpu, [&] { return cudaMalloc(&room, bytes); }), what);
  return OwnedMemory(static_cast<std::byte*>(room));
}

std::unique_ptr<MemorySpace> make_pinned_space(int gpu) {
  auto pool = std::make_shared<BufferPool>(
      &BufferPool::usable_host_bytes,
      Pinning{.pin =
                  [gpu](std::byte* pages, std::uint64_t bytes) {
                    choose_gpu(gpu);
                    check_pinned(cudaHostRegister(pages, bytes, cudaHostRegisterPortable), bytes);
                  },
              .unpin =
                  [gpu](std::byte* pages) {
                    cudaSetDevice(gpu);
                    cudaHostUnregister(pages);
                  }});
  return make_host_space(std::move(pool));
}

}  // namespace troupe
