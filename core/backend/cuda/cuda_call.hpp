// The interface between the CUDA backend and the kernels of op kinds: a launcher gets one op and a
// stream, and enqueues the op's work there.
#pragma once

#include "core/backend/cuda/kernel_launch.hpp"
#include "core/ops/op_kind.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

namespace troupe {

// A stream of a device, with the handles of the libraries that enqueue their work on it. cuBLAS
// must take scalars from the host's memory, which is its default.
struct CudaStream {
  bool uses_tf32 = false;   // products of float32 take their factors in TF32
  bool uses_graphs = true;  // short launches go to the GPU together, as CUDA graphs

  virtual ~CudaStream() = default;
  // Launches a kernel, now or together with later ones, but before all that comes after it on this
  // stream. Copies the arguments. Throws a run Error if the kernel can't be launched.
  virtual void launch(const KernelLaunch& launch) = 0;
  // For calls that enqueue work themselves. What was launched before has been enqueued.
  virtual cudaStream_t stream() = 0;
  virtual cublasHandle_t blas() = 0;
  virtual cusolverDnHandle_t solver() = 0;
  // Device memory for intermediate values of one op, at a multiple of kernel_alignment. Valid until
  // the next call on this stream, in the order of the stream. Throws a run Error if there is no
  // memory.
  virtual std::byte* scratch(std::size_t bytes) = 0;
};

// One op. Its tensors are in the memory of the device, and as those of a CpuCall: the output may be
// the buffer of input OpKind::in_place_of.
struct CudaCall {
  std::span<const ConstTensorView> inputs;
  TensorView output;
  std::span<const TensorView> further_outputs = {};  // of OpKind::further_outputs
  const Attrs& attrs;
  CudaStream& on;
  std::uint32_t index = 0;  // of the op in its group
  // In pinned memory of the host, and 0. An op that fails on the device writes another value, in
  // the order of the stream: see CudaKernelEntry::explain.
  std::int32_t* verdict = nullptr;
};

// Enqueues the work of one op on its stream. Never waits for the device. Call from one thread at a
// time per stream, with the stream's device as the current one. Throws a run Error if the work
// can't be enqueued. The bits of a result depend on the op's inputs alone.
using CudaKernel = void (*)(const CudaCall&);

struct CudaKernelEntry {
  std::string_view kind;  // OpKind::name
  CudaKernel launch = nullptr;
  // What went wrong and what to do, in words, given a verdict other than 0. Null: ops of this kind
  // don't fail on the device.
  std::string (*explain)(std::int32_t verdict) = nullptr;
};

// The kernels of all op kinds that CUDA devices compute.
std::span<const CudaKernelEntry> cuda_kernels();

}  // namespace troupe
