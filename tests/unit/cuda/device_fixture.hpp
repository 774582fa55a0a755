// Runs single ops by their CUDA kernels on small tensors, and compares with the kernels of the CPU.
#pragma once

#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/cuda_check.hpp"
#include "core/base/error.hpp"
#include "tests/support/op_cases.hpp"

#include <cmath>
#include <optional>

#include <boost/test/unit_test.hpp>

namespace troupe::testing {

inline const CudaKernelEntry& cuda_kernel(std::string_view op) {
  for (const CudaKernelEntry& entry : cuda_kernels()) {
    if (entry.kind == op) return entry;
  }
  TROUPE_ASSERT(false);
}

// Device memory of exactly `bytes` bytes, so that sanitizers find accesses beyond it. Begins as
// NaNs: all bits are 1.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    void* data = nullptr;
    check_cuda(cudaMalloc(&data, bytes), "cudaMalloc");
    data_ = static_cast<std::byte*>(data);
    const std::vector<std::byte> filling(bytes, std::byte{0xFF});
    copy(data_, filling.data(), cudaMemcpyHostToDevice);
  }
  explicit DeviceBuffer(const std::vector<std::byte>& values) : DeviceBuffer(values.size()) {
    copy(data_, values.data(), cudaMemcpyHostToDevice);
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  std::byte* data() const { return data_; }
  std::vector<std::byte> read() const {
    std::vector<std::byte> values(bytes_);
    copy(values.data(), data_, cudaMemcpyDeviceToHost);
    return values;
  }

 private:
  void copy(void* to, const void* from, cudaMemcpyKind kind) const {
    check_cuda(cudaMemcpy(to, from, bytes_, kind), "cudaMemcpy");
  }
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

class TestStream final : public CudaStream {
 public:
  TestStream() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cublasCreate(&blas_), "cublasCreate");
    check_cuda(cublasSetStream(blas_, stream_), "cublasSetStream");
    check_cuda(cusolverDnCreate(&solver_), "cusolverDnCreate");
    check_cuda(cusolverDnSetStream(solver_, stream_), "cusolverDnSetStream");
    void* verdict = nullptr;
    check_cuda(cudaMallocHost(&verdict, sizeof(std::int32_t)), "cudaMallocHost");
    verdict_ = static_cast<std::int32_t*>(verdict);
  }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  ~TestStream() override {
    cudaFreeHost(verdict_);
    cusolverDnDestroy(solver_);
    cublasDestroy(blas_);
    cudaStreamDestroy(stream_);
  }

  void launch(const KernelLaunch& launch) override { enqueue(launch, stream_); }
  cudaStream_t stream() override { return stream_; }
  cublasHandle_t blas() override { return blas_; }
  cusolverDnHandle_t solver() override { return solver_; }
  std::byte* scratch(std::size_t bytes) override { return scratch_.emplace(bytes).data(); }
  // Launches the op, waits for it, and throws if it failed on the device.
  void run(const CudaKernelEntry& kernel, std::span<const ConstTensorView> inputs,
           TensorView output, const Attrs& attrs) {
    *verdict_ = 0;
    kernel.launch(
        {.inputs = inputs, .output = output, .attrs = attrs, .on = *this, .verdict = verdict_});
    check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    if (*verdict_ != 0) throw run_error(kernel.explain(*verdict_));
  }

 private:
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  cusolverDnHandle_t solver_ = nullptr;
  std::int32_t* verdict_ = nullptr;
  std::optional<DeviceBuffer> scratch_;
};

// What the op makes on the device; in the buffer of input `in_place_of` if there is one.
inline Tensor run_on_device(std::string_view op, const std::vector<Tensor>& inputs,
                            const Attrs& attrs = {}, TensorType declared = {},
                            std::optional<std::size_t> in_place_of = {}) {
  TestStream stream;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<TensorType> types;
  std::vector<ConstTensorView> views;
  for (const Tensor& input : inputs) {
    buffers.push_back(std::make_unique<DeviceBuffer>(input.bytes));
    types.push_back(input.type);
    views.push_back({input.type, buffers.back()->data()});
  }
  const Attrs complete = complete_attrs(op_kind(op), attrs);
  Tensor output{type_of(op, types, attrs, declared), {}};
  const DeviceBuffer own(output.type.bytes());
  const DeviceBuffer& out = in_place_of ? *buffers[*in_place_of] : own;
  stream.run(cuda_kernel(op), views, {output.type, out.data()}, complete);
  output.bytes = out.read();
  return output;
}

// Whether both tensors have the same bits, except that any two NaNs are equal.
inline bool same_values(const Tensor& a, const Tensor& b) {
  if (a.type != b.type) return false;
  if (a == b || is_integer(a.type.dtype)) return a == b;
  const std::vector<double> x = doubles(a);
  const std::vector<double> y = doubles(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same = std::isnan(x[i]) ? std::isnan(y[i])
                                       : x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]);
    if (!same) return false;
  }
  return true;
}

// Whether the op makes the same values on the device, out of place and in place, as on the CPU.
inline bool same_on_device(std::string_view op, const std::vector<Tensor>& inputs,
                           const Attrs& attrs = {}, TensorType declared = {}) {
  const Tensor expected = run_op(op, inputs, attrs, declared);
  if (!same_values(run_on_device(op, inputs, attrs, declared), expected)) return false;
  const auto in_place_of = op_kind(op).in_place_of;
  if (!in_place_of || inputs[*in_place_of].type != expected.type) return true;
  return same_values(run_on_device(op, inputs, attrs, declared, *in_place_of), expected);
}

// Checks that the values are within 80 roundings of those of the CPU, which is 1e-5 for float32,
// relative to them or to `scale` where they are smaller. Two runs must give the same bits, and so
// must a run in place.
inline void check_close_on_device(std::string_view op, const std::vector<Tensor>& inputs,
                                  const Attrs& attrs = {}, double scale = 1) {
  const Tensor out = run_on_device(op, inputs, attrs);
  BOOST_TEST((run_on_device(op, inputs, attrs) == out));
  const auto in_place_of = op_kind(op).in_place_of;
  if (in_place_of && inputs[*in_place_of].type == out.type) {
    BOOST_TEST((run_on_device(op, inputs, attrs, {}, *in_place_of) == out));
  }
  const Tensor on_cpu = run_op(op, inputs, attrs);
  BOOST_REQUIRE((out.type == on_cpu.type));
  const std::vector<double> values = doubles(out);
  const std::vector<double> expected = doubles(on_cpu);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double bound = 80 * epsilon_of(out.type.dtype) * std::max(scale, std::fabs(expected[i]));
    if (std::isnan(expected[i])
            ? std::isnan(values[i])
            : values[i] == expected[i] || std::fabs(values[i] - expected[i]) <= bound) {
      continue;
    }
    BOOST_ERROR(op << ": element " << i << " is " << values[i] << " and not " << expected[i]);
    return;
  }
}

}  // namespace troupe::testing
