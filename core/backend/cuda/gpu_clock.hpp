// The clock of a GPU, in the time of runs.
#pragma once

#include "core/backend/cuda/cuda_owned.hpp"
#include "core/base/time.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include <cuda_runtime_api.h>

namespace troupe {

// An event of which it is known when the GPU has passed it. The times of others follow from what
// CUDA says has passed between the two, for all streams of the GPU alike.
class GpuAnchor {
 public:
  // The GPU has passed the event at this time, which may be off by so much.
  GpuAnchor(OwnedEvent event, Instant passed, Duration off)
      : event_(std::move(event)), passed_(passed), off_(off) {}
  // `event` must have been passed; if CUDA doesn't say when, it is `otherwise`. Exact relative to
  // other events, but for the digits of a float: 1 us after 10 s.
  Instant time_of(cudaEvent_t event, Instant otherwise) const;
  Instant passed() const { return passed_; }
  Duration off() const { return off_; }

 private:
  OwnedEvent event_;
  Instant passed_;
  Duration off_;
};

// Thread-safe. The GPU must be the current one of threads that call it.
class GpuClock {
 public:
  // That of a GPU, as long as somebody holds it. Blocks until the GPU has answered. Throws a run
  // Error if CUDA fails.
  static std::shared_ptr<GpuClock> of(int gpu);
  explicit GpuClock(int gpu);
  ~GpuClock();
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  // For work that has ended lately. Doesn't block.
  std::shared_ptr<const GpuAnchor> anchor() const;
  // Takes another anchor if the last one is some seconds old, as clocks drift. Blocks for less than
  // a millisecond, while the GPU answers; if it doesn't, which other work may keep it from, the old
  // one stays for a while.
  void renew();

 private:
  const int gpu_;
  OwnedStream stream_;
  std::mutex renewing_;       // guards what follows
  Instant tried_{};           // to renew
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const GpuAnchor> anchor_;
};

}  // namespace troupe
