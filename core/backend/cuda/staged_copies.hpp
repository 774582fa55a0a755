// Copies to a GPU of memory that isn't pinned, by way of pinned memory.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/cuda/gpu_clock.hpp"
#include "core/ops/tensor_type.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace troupe {

// A copy from pageable memory would keep the thread that asks for it until all has been read. A
// thread of this class copies pieces to pinned memory, one piece while the GPU fetches another.
class StagedCopies {
 public:
  struct Copy {
    std::uint32_t slot = 0;
    std::uint32_t index = 0;  // as in ChunkMove
    std::span<const std::byte> from;
    std::byte* to = nullptr;
    TensorType type;  // of the tensor
  };

  // `way`: from where to where, for profilers.
  StagedCopies(int gpu, std::string way, Completions& completions)
      : gpu_(gpu), way_(std::move(way)), completions_(completions), clock_(GpuClock::of(gpu)) {}
  // Blocks until all copies have ended.
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // Begins a copy after those before; its end is reported for its slot. Doesn't block.
  void start(const Copy& copy);

 private:
  void work();

  const int gpu_;
  const std::string way_;
  Completions& completions_;
  const std::shared_ptr<GpuClock> clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Copy> copies_;
  bool is_ending_ = false;
  std::thread thread_;  // since the first copy
};

}  // namespace troupe
