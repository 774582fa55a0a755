// Copies to a GPU of memory that isn't pinned, by way of pinned memory.
#pragma once

#include "core/backend/backend.hpp"
#include "core/backend/cuda/gpu_clock.hpp"
#include "core/base/time.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace troupe {

// A copy from pageable memory would keep the thread that asks for it until all has been read. A
// thread of this class copies pieces to pinned memory, one piece while the GPU fetches another.
class StagedCopies {
 public:
  StagedCopies(int gpu, Completions& completions)
      : gpu_(gpu), completions_(completions), clock_(GpuClock::of(gpu)) {}
  // Blocks until all copies have ended.
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // Begins a copy after those before; its end is reported for `slot`. Doesn't block.
  void start(std::uint32_t slot, const std::byte* from, std::byte* to, std::uint64_t bytes,
             Instant now);

 private:
  struct Copy {
    std::uint32_t slot = 0;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::uint64_t bytes = 0;
    std::shared_ptr<const GpuAnchor> anchor;
  };

  void work();

  const int gpu_;
  Completions& completions_;
  const std::shared_ptr<GpuClock> clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Copy> copies_;
  bool is_ending_ = false;
  std::thread thread_;  // since the first copy
};

}  // namespace troupe
