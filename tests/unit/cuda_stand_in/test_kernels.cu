#include "tests/unit/cuda_stand_in/test_kernels.hpp"

#include <cstdint>

extern "C" __global__ void stand_in_test_fill(float* out, float value, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = value;
}

extern "C" __global__ void stand_in_test_overrun(float* out, std::size_t n) {
  out[n] = 0;
}

// The two are a function and its argument, of the host.
extern "C" __global__ void stand_in_test_call(std::uintptr_t, std::uintptr_t) {}

extern "C" __global__ void stand_in_test_unknown() {}

namespace troupe::testing {

template <class T>
__global__ void scale(const T* in, T* out, T factor, std::size_t n) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = factor * in[i];
}

namespace {

constexpr unsigned threads = 128;
unsigned blocks(std::size_t n) {
  return static_cast<unsigned>((n + threads - 1) / threads);
}

}  // namespace

cudaError_t launch_fill(float* out, float value, std::size_t n, cudaStream_t stream) {
  stand_in_test_fill<<<blocks(n), threads, 0, stream>>>(out, value, n);
  return cudaGetLastError();
}

cudaError_t launch_scale(const float* in, float* out, float factor, std::size_t n,
                         cudaStream_t stream) {
  scale<<<blocks(n), threads, 0, stream>>>(in, out, factor, n);
  return cudaGetLastError();
}

cudaError_t launch_scale(const double* in, double* out, double factor, std::size_t n,
                         cudaStream_t stream) {
  scale<<<blocks(n), threads, 0, stream>>>(in, out, factor, n);
  return cudaGetLastError();
}

const void* fill_kernel() {
  return reinterpret_cast<const void*>(stand_in_test_fill);
}
const void* scale_kernel() {
  return reinterpret_cast<const void*>(scale<float>);
}

cudaError_t launch_overrun(float* out, std::size_t n, cudaStream_t stream) {
  stand_in_test_overrun<<<1, 1, 0, stream>>>(out, n);
  return cudaGetLastError();
}

cudaError_t launch_call(void (*function)(void*), void* data, cudaStream_t stream) {
  stand_in_test_call<<<1, 1, 0, stream>>>(reinterpret_cast<std::uintptr_t>(function),
                                          reinterpret_cast<std::uintptr_t>(data));
  return cudaGetLastError();
}

cudaError_t launch_unknown(cudaStream_t stream) {
  stand_in_test_unknown<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_too_many_threads(float* out, cudaStream_t stream) {
  stand_in_test_fill<<<1, 2048, 0, stream>>>(out, 0, 1);
  return cudaGetLastError();
}

}  // namespace troupe::testing
