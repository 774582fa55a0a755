#include "tests/support/cuda/stand_in/api.hpp"

namespace troupe::testing {

int& current_device() {
  thread_local int device = 0;
  return device;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t begin_call(Engine& engine, CallKind kind) {
  Control& control = engine.control;
  const bool is_counted = kind != CallKind::poll;
  if (is_counted) ++control.calls;
  if (control.driver_version < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
  if (control.devices <= 0) return cudaErrorNoDevice;
  if (is_counted && is_due(control.sticky_error_at)) {
    engine.break_device(current_device(), cudaErrorIllegalAddress);
  }
  if (is_counted && is_due(control.device_lost_at)) {
    engine.break_device(current_device(), cudaErrorDevicesUnavailable);
  }
  if (kind == CallKind::any_device) return cudaSuccess;
  return engine.error_of(current_device());
}

}  // namespace troupe::testing
