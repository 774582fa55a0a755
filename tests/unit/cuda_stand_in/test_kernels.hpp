// Kernels for the tests of the stand-in. Each function launches one and returns its error.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace troupe::testing {

cudaError_t launch_fill(float* out, float value, std::size_t n, cudaStream_t stream);
// out[i] = factor * in[i]
cudaError_t launch_scale(const float* in, float* out, float factor, std::size_t n,
                         cudaStream_t stream);
cudaError_t launch_scale(const double* in, double* out, double factor, std::size_t n,
                         cudaStream_t stream);
// Writes one element behind the n-th.
cudaError_t launch_overrun(float* out, std::size_t n, cudaStream_t stream);
// Calls function(data) when the stream reaches it: kernels of the stand-in run on the CPU.
cudaError_t launch_call(void (*function)(void*), void* data, cudaStream_t stream);
// A kernel without a body on the CPU.
cudaError_t launch_unknown(cudaStream_t stream);
// A block of more threads than a GPU has.
cudaError_t launch_too_many_threads(float* out, cudaStream_t stream);

// The kernels of launch_fill() and launch_scale() for float, for the nodes of graphs: they take
// what these do, but for the stream.
const void* fill_kernel();
const void* scale_kernel();

}  // namespace troupe::testing
