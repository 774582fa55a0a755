// The clock of a GPU, in the time of runs.
#pragma once

#include "core/backend/cuda/cuda_owned.hpp"
#include "core/base/time.hpp"

#include <memory>
#include <mutex>

#include <cuda_runtime_api.h>

namespace troupe {

// An event of which it is known when the GPU has passed it. The times of others follow from what
// CUDA says has passed between the two, for all streams of the GPU alike.
class GpuAnchor {
 public:
  // Records the event on `stream`, which must be idle, at this time.
  GpuAnchor(cudaStream_t stream, Instant now);
  // `event` must have been passed. Exact relative to other events, but for the digits of a float: 1
  // us after 10 s.
  Instant time_of(cudaEvent_t event) const;
  Instant passed() const { return passed_; }

 private:
  OwnedEvent event_;
  Instant passed_;
};

// Thread-safe.
class GpuClock {
 public:
  // That of a GPU, as long as somebody holds it. Throws a run Error if CUDA fails.
  static std::shared_ptr<GpuClock> of(int gpu);
  explicit GpuClock(int gpu);
  ~GpuClock();
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  // One that is a few seconds old at most, for work that is issued now. The GPU must be the
  // thread's current one. Doesn't block.
  std::shared_ptr<const GpuAnchor> anchor(Instant now);

 private:
  const int gpu_;
  OwnedStream stream_;
  std::mutex mutex_;
  std::shared_ptr<const GpuAnchor> anchor_;
};

}  // namespace troupe
