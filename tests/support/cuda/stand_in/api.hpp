// What every function of the three libraries does around its own few lines.
#pragma once

#include "tests/support/cuda/stand_in/engine.hpp"

#include <mutex>

#include <cuda_runtime_api.h>

namespace troupe::testing {

enum class CallKind : std::uint8_t {
  normal,
  any_device,  // doesn't fail because the current device is broken
  release,     // releases its resource even if it fails because the device is broken
  poll,        // how often it is called depends on the time: neither counted nor injected into
};

int& current_device();      // of the calling thread
cudaError_t& last_error();  // of the calling thread

// Counts the call and injects what is due. Returns the error that the call must return.
cudaError_t begin_call(Engine& engine, CallKind kind);

// Calls body(engine) with the engine's mutex held, unless the call must fail. Returns what the API
// function returns.
template <class Body>
cudaError_t api(Body body, CallKind kind = CallKind::normal) {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  cudaError_t error = begin_call(e, kind);
  if (error == cudaSuccess || kind == CallKind::release) {
    try {
      body(e);
    } catch (const CudaFailure& failure) {
      if (error == cudaSuccess) error = failure.error;
    }
  }
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error() = error;
  return error;
}

inline void require(bool condition, cudaError_t error = cudaErrorInvalidValue) {
  if (!condition) throw CudaFailure{error};
}

inline void require_kernel_image(const Engine& engine, int device) {
  require(((engine.control.no_kernel_image >> device) & 1) == 0, cudaErrorNoKernelImageForDevice);
}
// Throws cudaErrorInvalidDevice if there is no such device.
inline void require_device(const Engine& engine, int device) {
  require(device >= 0 && device < engine.device_count(), cudaErrorInvalidDevice);
}

}  // namespace troupe::testing
