#include "core/backend/cuda/gpu_link.hpp"

#include "core/backend/cuda/cuda_check.hpp"
#include "core/backend/cuda/cuda_queue.hpp"
#include "core/backend/cuda/cuda_space.hpp"
#include "core/backend/cuda/profile_range.hpp"
#include "core/backend/cuda/staged_copies.hpp"
#include "core/backend/link_use.hpp"
#include "core/base/assert.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <string>

#include <fmt/format.h>

namespace troupe {
namespace {

// Lets a GPU use the memory of another one, if the hardware can do that: copies between the two
// then don't go by the memory of the host. Returns whether it can.
bool enable_access(int gpu, int peer) {
  int can = 0;
  check_cuda(cudaDeviceCanAccessPeer(&can, gpu, peer), "asking for access to another GPU");
  if (can == 0) return false;
  choose_gpu(gpu);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  switch (status) {
    case cudaErrorPeerAccessAlreadyEnabled:
    case cudaErrorPeerAccessUnsupported:
    case cudaErrorTooManyPeers:
      cudaGetLastError();  // is handled
      return status == cudaErrorPeerAccessAlreadyEnabled;
    default:
      check_cuda(status, "enabling access to another GPU");
      return true;
  }
}

// A stream for each direction. A tensor that the user has lent to Troupe is in memory that isn't
// pinned: a thread copies it by way of pinned memory, and its copy can't be issued ahead.
class GpuLink final : public LinkBackend {
 public:
  GpuLink(const BackendContext& context, std::array<int, 2> ends, std::uint32_t depth)
      : store_(context.store),
        use_(context.use),
        ends_(ends),
        ways_{way_of(ends[0], ends[1]), way_of(ends[1], ends[0])} {
    if (ends[0] >= 0 && ends[1] >= 0 && ends[0] != ends[1]) {
      const bool there = enable_access(ends[0], ends[1]);
      const bool back = enable_access(ends[1], ends[0]);
      way_ = there && back ? &LinkUse::copied_directly : &LinkUse::copied_via_host;
    }
    for (const Direction d : {Direction::forward, Direction::backward}) {
      const auto number = static_cast<std::uint32_t>(d);
      queues_[number] =
          std::make_unique<CudaQueue>(stream_of(d), number * depth, depth, context.completions);
      staged_[number] =
          std::make_unique<StagedCopies>(stream_of(d), ways_[number], context.completions);
      warm_up(d);
    }
  }

  Started start(Direction direction, const ChunkMove& move) override {
    const std::byte* from = store_.data(move.from);
    std::byte* to = store_.data(move.to);
    TROUPE_ASSERT(from != nullptr && to != nullptr);
    from += move.offset;
    to += move.offset;
    const auto number = static_cast<std::size_t>(direction);
    CudaQueue& queue = *queues_[number];
    if (source(direction) < 0 && store_.is_adopted(move.from)) {
      if (use_ != nullptr) use_->staged_bytes += move.bytes;
      staged_[number]->start({.slot = move.slot,
                              .index = move.index,
                              .from = {from, move.bytes},
                              .to = to,
                              .type = store_.view(move.from).type});
      return {.state = Started::State::pending};
    }
    const ProfileRange range("copy", move.index, store_.view(move.from).type, ways_[number]);
    queue.begin(move.slot, move.issue->after);
    // The last chunks of a transfer may be empty, and then begin behind the end of the tensor.
    if (move.bytes > 0) copy(direction, from, to, move.bytes, queue.stream());
    if (use_ != nullptr && way_ != nullptr) (use_->*way_).store(true, std::memory_order_relaxed);
    move.issue->token = queue.end(move.slot);
    return {.state = Started::State::pending};
  }

 private:
  // Room in the memory of an end of the link.
  struct Room {
    static constexpr std::size_t bytes = 512;
    OwnedMemory of_gpu;
    PinnedMemory of_host;

    explicit Room(int gpu) {
      if (gpu < 0) {
        of_host = pin_memory(bytes);
      } else {
        choose_gpu(gpu);
        of_gpu = allocate_on(gpu, bytes, "allocating memory");
      }
    }
    std::byte* data() const { return of_gpu != nullptr ? of_gpu.get() : of_host.get(); }
  };

  // The first copy of a stream begins late: 0.4 ms on an H200. The memory stays: to free it would
  // wait for all that GPUs have to do.
  void warm_up(Direction d) {
    const Room& from = rooms_.emplace_back(source(d));
    const Room& to = rooms_.emplace_back(target(d));
    const cudaStream_t stream = queues_[static_cast<std::size_t>(d)]->stream();
    choose_gpu(stream_of(d));
    copy(d, from.data(), to.data(), Room::bytes, stream);
    check_cuda(cudaStreamSynchronize(stream), "copying");
  }

  int source(Direction d) const { return ends_[d == Direction::forward ? 0 : 1]; }
  int target(Direction d) const { return ends_[d == Direction::forward ? 1 : 0]; }
  // The GPU whose stream copies: that of the source, if it is a GPU.
  int stream_of(Direction d) const { return source(d) >= 0 ? source(d) : target(d); }

  void copy(Direction d, const std::byte* from, std::byte* to, std::uint64_t bytes,
            cudaStream_t stream) const {
    if (source(d) >= 0 && target(d) >= 0) {
      // Directly where the GPUs can access each other's memory; else CUDA goes by the host's.
      check_cuda(cudaMemcpyPeerAsync(to, target(d), from, source(d), bytes, stream),
                 "copying a tensor to another GPU");
      return;
    }
    const auto kind = source(d) >= 0 ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream), "copying a tensor");
  }

  // In profiles.
  static std::string way_of(int source, int target) {
    if (source < 0) return fmt::format("to GPU {}", target);
    if (target < 0) return fmt::format("from GPU {}", source);
    return fmt::format("from GPU {} to GPU {}", source, target);
  }

  MemoryStore& store_;
  LinkUse* const use_;
  std::atomic<bool> LinkUse::*way_ = nullptr;         // of copies between two GPUs
  const std::array<int, 2> ends_;                     // GPUs of a and b
  const std::array<std::string, 2> ways_;             // by Direction
  std::deque<Room> rooms_;                            // of the first copies
  std::array<std::unique_ptr<CudaQueue>, 2> queues_;  // by Direction
  std::array<std::unique_ptr<StagedCopies>, 2> staged_;
};

}  // namespace

std::unique_ptr<LinkBackend> make_gpu_link(const BackendContext& context, int gpu_of_a,
                                           int gpu_of_b, std::uint32_t depth) {
  return std::make_unique<GpuLink>(context, std::array<int, 2>{gpu_of_a, gpu_of_b}, depth);
}

}  // namespace troupe
