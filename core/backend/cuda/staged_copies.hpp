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
  // `name`: of the copies, for profilers.
  StagedCopies(int gpu, std::string name, Completions& completions)
      : gpu_(gpu), name_(std::move(name)), completions_(completions), clock_(GpuClock::of(gpu)) {}
  // Blocks until all copies have ended.
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // Begins a copy after those before; its end is reported for `slot`. `type`: of the tensor.
  // Doesn't block.
  void start(std::uint32_t slot, std::span<const std::byte> from, std::byte* to,
             const TensorType& type);

 private:
  struct Copy {
    std::uint32_t slot = 0;
    std::span<const std::byte> from;
    std::byte* to = nullptr;
    TensorType type;
  };

  void work();

  const int gpu_;
  const std::string name_;
  Completions& completions_;
  const std::shared_ptr<GpuClock> clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Copy> copies_;
  bool is_ending_ = false;
  std::thread thread_;  // since the first copy
};

}  // namespace troupe
