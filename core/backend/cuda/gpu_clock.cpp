#include "core/backend/cuda/gpu_clock.hpp"

#include "core/backend/cuda/cuda_check.hpp"

#include <chrono>
#include <cstdint>
#include <unordered_map>

namespace troupe {
GpuAnchor::GpuAnchor(cudaStream_t stream, Instant now) : event_(make_event()), passed_(now) {
  check_cuda(cudaEventRecord(event_.get(), stream), "recording an event");
}

Instant GpuAnchor::time_of(cudaEvent_t event) const {
  float ms = 0;
  if (cudaEventElapsedTime(&ms, event_.get(), event) != cudaSuccess) return passed_;
  return passed_ + Duration{static_cast<std::int64_t>(static_cast<double>(ms) * 1e6)};
}

std::shared_ptr<GpuClock> GpuClock::of(int gpu) {
  static std::mutex mutex;
  static std::unordered_map<int, std::weak_ptr<GpuClock>> clocks;
  const std::lock_guard lock(mutex);
  std::shared_ptr<GpuClock> clock = clocks[gpu].lock();
  if (clock == nullptr) {
    clock = std::make_shared<GpuClock>(gpu);
    clocks[gpu] = clock;
  }
  return clock;
}

GpuClock::GpuClock(int gpu) : gpu_(gpu) {
  check_cuda(cudaSetDevice(gpu), "choosing a GPU");
  stream_ = make_stream();
  // The first event takes long, as the driver sets the stream up.
  const GpuAnchor first(stream_.get(), Instant{});
  check_cuda(cudaStreamSynchronize(stream_.get()), "waiting for a GPU");
}

GpuClock::~GpuClock() {
  cudaSetDevice(gpu_);  // for the destructors of the members
}

std::shared_ptr<const GpuAnchor> GpuClock::anchor(Instant now) {
  constexpr std::chrono::seconds age_max{5};
  const std::lock_guard lock(mutex_);
  if (anchor_ == nullptr || now - anchor_->passed() > age_max) {
    anchor_ = std::make_shared<const GpuAnchor>(stream_.get(), now);
  }
  return anchor_;
}

}  // namespace troupe
