// The errors of devices, and the end of the process.
#include "tests/support/cuda/stand_in/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include <unistd.h>

namespace troupe::testing {

void Engine::break_device(int device, cudaError_t error) {
  errors_[static_cast<std::size_t>(device)] = error;
  for (const auto& stream : streams_) {
    if (stream->device != device) continue;
    for (const QueuedWork& dropped : stream->queue) {
      if (dropped.work.marks != nullptr) dropped.work.marks->is_reached = true;
    }
    stream->queue.clear();
    stream->finished = stream->issued;
    host_learns(stream->order.all);  // nothing of it is going to happen
  }
  work_added_.notify_one();
  work_finished_.notify_all();
}

void Engine::throw_if_broken(int device) const {
  if (error_of(device) != cudaSuccess) throw CudaFailure{error_of(device)};
}

void Engine::restore_devices() {
  errors_ = {};
  control.sticky_error_at = control.device_lost_at = control.kernel_fault_at = 0;
  control.out_of_memory_at = control.no_kernel_image = 0;
  control.out_of_memory_for = 1;
  control.no_peer_access = control.peers_refused = 0;
}

void Engine::check_leaks() {
  for (const auto& [kind, count] : handles.count()) {
    control.fail("leak: " + std::to_string(count) + ' ' + std::string(kind) +
                 (count == 1 ? "" : "s") + " not destroyed");
  }
  for (const auto& [begin, allocation] : memory.allocations()) {
    control.fail("leak: " + allocation.text() + " not freed");
  }
}

void Engine::at_exit() {
  std::unique_lock lock(mutex);
  const auto is_idle = [this] {
    return std::all_of(streams_.begin(), streams_.end(), [](const auto& stream) {
      return stream->queue.empty() && !stream->is_running;
    });
  };
  if (!work_finished_.wait_for(lock, std::chrono::seconds(5), is_idle)) {
    control.fail("leak: work that isn't finished when the process exits");
  }
  check_leaks();
  if (control.failures == 0) return;
  std::fprintf(stderr, "CUDA stand-in: %lld failures, the exit status is 97\n",
               static_cast<long long>(control.failures));
  std::fflush(nullptr);
  _exit(97);
}

// Runs after the destructors of the program and of the libraries that use CUDA.
[[gnu::destructor]] void check_at_exit() {
  engine().at_exit();
}

}  // namespace troupe::testing
