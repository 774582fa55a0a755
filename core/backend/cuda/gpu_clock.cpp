#include "core/backend/cuda/gpu_clock.hpp"

#include "core/backend/cuda/cuda_check.hpp"
#include "core/base/error.hpp"
#include "core/base/steady_now.hpp"

#include <chrono>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

constexpr std::chrono::seconds age_max{5};
constexpr std::chrono::milliseconds pause_between_tries{100};
constexpr std::chrono::microseconds patience{500};
// An anchor that is off by more is no better than one that has drifted.
constexpr std::chrono::microseconds off_max{50};

// Returns null if the GPU hasn't answered within `limit`. The stream must be idle.
std::shared_ptr<const GpuAnchor> take_anchor(cudaStream_t stream, Duration limit) {
  OwnedEvent event = make_event();
  const Instant before = steady_now();
  check_cuda(cudaEventRecord(event.get(), stream), "recording an event");
  for (;;) {
    const bool has_passed = is_passed(event.get());
    const Instant after = steady_now();
    if (has_passed) {
      const Duration off = (after - before) / 2;
      return std::make_shared<const GpuAnchor>(std::move(event), before + off, off);
    }
    if (after - before > limit) return nullptr;
  }
}

}  // namespace

Instant GpuAnchor::time_of(cudaEvent_t event, Instant otherwise) const {
  float ms = 0;
  if (cudaEventElapsedTime(&ms, event_.get(), event) != cudaSuccess) return otherwise;
  return passed_ + Duration{static_cast<std::int64_t>(static_cast<double>(ms) * 1e6)};
}

std::shared_ptr<GpuClock> GpuClock::of(int gpu) {
  struct Clocks {
    std::mutex mutex;
    std::unordered_map<int, std::weak_ptr<GpuClock>> of_gpu;
  };
  // Never destroyed: static sessions may outlive other static objects.
  static Clocks& clocks = *new Clocks;
  const std::lock_guard lock(clocks.mutex);
  std::weak_ptr<GpuClock>& known = clocks.of_gpu[gpu];
  std::shared_ptr<GpuClock> clock = known.lock();
  if (clock == nullptr) {
    clock = std::make_shared<GpuClock>(gpu);
    known = clock;
  }
  return clock;
}

GpuClock::GpuClock(int gpu) : gpu_(gpu) {
  choose_gpu(gpu);
  stream_ = make_stream();
  // The first events take long, as the driver sets the stream up.
  constexpr int tries = 8;
  for (int i = 0; i < tries; ++i) {
    std::shared_ptr<const GpuAnchor> taken = take_anchor(stream_.get(), longest_duration);
    if (anchor_ == nullptr || taken->off() < anchor_->off()) anchor_ = std::move(taken);
  }
}

GpuClock::~GpuClock() {
  cudaSetDevice(gpu_);  // for the destructors of the members
}

std::shared_ptr<const GpuAnchor> GpuClock::anchor() const {
  const std::lock_guard lock(mutex_);
  return anchor_;
}

void GpuClock::renew() {
  const std::unique_lock renewing(renewing_, std::try_to_lock);
  const Instant begun = steady_now();
  if (!renewing || begun - anchor()->passed() < age_max) return;
  if (begun - tried_ < pause_between_tries) return;
  tried_ = begun;
  try {
    std::shared_ptr<const GpuAnchor> taken = take_anchor(stream_.get(), patience);
    if (taken == nullptr || taken->off() > off_max) return;
    const std::lock_guard lock(mutex_);
    anchor_ = std::move(taken);
  } catch (const Error&) {
    // What has been issued will say it.
  }
}

}  // namespace troupe
