#include "bench/overlap/bare.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <random>
#include <string_view>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  throw run_error(fmt::format("{} failed: {}", what, cudaGetErrorString(status)));
}
void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw run_error(fmt::format("{} failed: {}", what, cublasGetStatusString(status)));
}

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for a stream"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Handle {
 public:
  explicit Handle(const Stream& stream) {
    check(cublasCreate(&handle_), "cuBLAS");
    check(cublasSetStream(handle_, stream.get()), "the stream of cuBLAS");
  }
  ~Handle() { cublasDestroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cublasHandle_t get() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

enum class Place { gpu, pinned };

// Memory of the GPU, or pinned memory of the host, filled with zeros.
class Buffer {
 public:
  Buffer(Place place, std::size_t bytes, const Stream& stream) : place_(place) {
    if (place == Place::pinned) {
      check(cudaMallocHost(&data_, bytes), "allocating pinned memory");
      std::fill_n(static_cast<std::byte*>(data_), bytes, std::byte{0});
    } else {
      check(cudaMalloc(&data_, bytes), "allocating memory of the GPU");
      check(cudaMemsetAsync(data_, 0, bytes, stream.get()), "filling memory of the GPU");
      stream.wait();
    }
  }
  ~Buffer() { place_ == Place::pinned ? cudaFreeHost(data_) : cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }

 private:
  Place place_;
  void* data_ = nullptr;
};

// Values in [0, 1), as those of the others: a GPU at the limit of its power is faster with zeros.
void fill(const Buffer& buffer, std::size_t bytes, const Stream& stream) {
  const Buffer values(Place::pinned, bytes, stream);
  std::mt19937 random(1);
  std::generate_n(values.floats(), bytes / sizeof(float),
                  [&] { return static_cast<float>(random() >> 8U) * 0x1p-24F; });
  check(cudaMemcpyAsync(buffer.data(), values.data(), bytes, cudaMemcpyHostToDevice, stream.get()),
        "filling memory of the GPU");
  stream.wait();
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class BareCuda final : public Bare {
 public:
  Versions versions() const override {
    Versions v;
    check(cudaDriverGetVersion(&v.driver), "asking for the driver's version");
    check(cudaRuntimeGetVersion(&v.runtime), "asking for the runtime's version");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "asking for the GPU's properties");
    v.capability_major = properties.major;
    v.capability_minor = properties.minor;
    return v;
  }

  double products(const Products& products) const override { return issue(products).seconds; }

  Issue issue(const Products& products) const override {
    check(cudaSetDevice(0), "choosing the GPU");
    const Stream stream;
    const Handle blas(stream);
    const std::size_t bytes = products.bytes() / products.count;
    const Buffer x(Place::gpu, bytes, stream);
    const Buffer y(Place::gpu, bytes, stream);
    fill(x, bytes, stream);
    const auto product = [&] {
      const int n = static_cast<int>(products.extent);
      const float one = 1;
      const float zero = 0;
      check(cublasSgemm(blas.get(), CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, x.floats(), n,
                        x.floats(), n, &zero, y.floats(), n),
            "a product");
    };
    product();  // so that its kernel has been loaded
    stream.wait();
    constexpr std::size_t queued_max = 256;
    const std::size_t first = std::min(products.count, queued_max);
    Issue issue;
    const Clock::time_point start = Clock::now();
    for (std::size_t k = 0; k < first; ++k) product();
    issue.host_seconds_per_op = seconds_since(start) / static_cast<double>(first);
    for (std::size_t k = first; k < products.count; ++k) product();
    stream.wait();
    issue.seconds = seconds_since(start);
    return issue;
  }

  double copies(const Products& sizes, Way way) const override {
    check(cudaSetDevice(0), "choosing the GPU");
    const Stream down;
    const Stream up;
    const std::size_t bytes = sizes.bytes() / sizes.count;
    const Buffer here(Place::pinned, bytes, down);
    const Buffer there(Place::gpu, bytes, down);
    const Buffer here_too(Place::pinned, bytes, up);
    const Buffer there_too(Place::gpu, bytes, up);
    const Clock::time_point start = Clock::now();
    for (std::size_t k = 0; k < sizes.count; ++k) {
      if (way != Way::to_gpu) {
        check(cudaMemcpyAsync(here.data(), there.data(), bytes, cudaMemcpyDeviceToHost, down.get()),
              "a copy to the host");
      }
      if (way != Way::to_host) {
        check(cudaMemcpyAsync(there_too.data(), here_too.data(), bytes, cudaMemcpyHostToDevice,
                              up.get()),
              "a copy to the GPU");
      }
    }
    down.wait();
    up.wait();
    return seconds_since(start);
  }
};

}  // namespace
}  // namespace troupe::bench

const troupe::bench::Bare* gpu_overlap_bare() {
  static const troupe::bench::BareCuda bare;
  return &bare;
}
