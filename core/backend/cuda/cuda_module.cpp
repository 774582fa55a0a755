#include "core/backend/cuda/cuda_module.hpp"

#include "core/backend/cuda/cuda_call.hpp"
#include "core/backend/cuda/cuda_check.hpp"
#include "core/backend/cuda/cuda_space.hpp"
#include "core/backend/cuda/gpu_device.hpp"
#include "core/backend/cuda/gpu_link.hpp"
#include "core/backend/cuda/gpu_peaks.hpp"
#include "core/backend/cuda/kernels/nothing.hpp"
#include "core/backend/cuda/warm_up_gpu.hpp"
#include "core/base/version.hpp"

#include <string>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace troupe {
namespace {

// "13.0"
std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string id_text(const cudaUUID_t& id) {
  std::string text;
  for (const char byte : id.bytes) {
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

bool can_access(int gpu, int peer) {
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, gpu, peer) == cudaSuccess) return can != 0;
  cudaGetLastError();  // is handled
  return false;
}

std::string problem_of(cudaError_t status) {
  return fmt::format("it can't be opened ({}); see what nvidia-smi says of it",
                     cudaGetErrorString(status));
}

// Of the current GPU.
std::string problem_of(const cudaDeviceProp& properties) {
  int blocks = 0;
  const cudaError_t status =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing_kernel(), 1, 0);
  if (status == cudaSuccess) return {};
  cudaGetLastError();  // is handled
  if (!is_built_for_others(status)) return problem_of(status);
  return fmt::format(
      "it has compute capability {}.{}, and this Troupe no kernels for that ({}); build Troupe "
      "with -D CMAKE_CUDA_ARCHITECTURES=native, or install a newer driver",
      properties.major, properties.minor, cudaGetErrorString(status));
}

std::string find_problem() {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) {
    return "there is no driver for NVIDIA's GPUs here; install it, or run where there is one";
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    return fmt::format(
        "the driver is for CUDA {}, and this Troupe needs CUDA {}; install a newer "
        "driver",
        version_text(driver), version_text(runtime));
  }
  if (status != cudaSuccess && status != cudaErrorNoDevice) {
    return fmt::format("CUDA says: {}; see what nvidia-smi says", cudaGetErrorString(status));
  }
  if (count == 0) {
    return "the driver has no GPU for this process; see what nvidia-smi says, and whether "
           "CUDA_VISIBLE_DEVICES hides some";
  }
  return {};
}

class LoadedModule final : public CudaModule {
 public:
  std::string problem() const override {
    static const std::string found = find_problem();
    return found;
  }

  int count() const override {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
  }

  CudaGpu gpu(int number) const override {
    cudaDeviceProp properties{};
    std::size_t free = 0;
    std::size_t total = 0;
    cudaError_t status = cudaSetDevice(number);
    if (status == cudaSuccess) status = cudaGetDeviceProperties(&properties, number);
    if (status == cudaSuccess) status = cudaMemGetInfo(&free, &total);
    if (status != cudaSuccess) {
      cudaGetLastError();  // is handled
      return {.number = number, .problem = problem_of(status)};
    }
    return {.number = number,
            .name = properties.name,
            .id = id_text(properties.uuid),
            .memory_bytes = total,
            .free_bytes = free,
            .peaks = peaks_of_gpu(number),
            .problem = problem_of(properties)};
  }

  CudaIssued issued(int gpu) const override { return issued_to(gpu); }

  bool are_peers(int a, int b) const override { return can_access(a, b) && can_access(b, a); }

  std::unique_ptr<DeviceBackend> make_device(const BackendContext& context, DeviceId id, int gpu,
                                             std::uint32_t depth) const override {
    return make_gpu_device(context, id, gpu, depth);
  }
  void warm_up(int gpu, const Device& device, std::span<const KernelSample> ops) const override {
    warm_up_gpu(gpu, device, ops);
  }
  std::unique_ptr<LinkBackend> make_link(const BackendContext& context, LinkEnds ends,
                                         std::uint32_t depth) const override {
    return make_gpu_link(context, ends.gpu_of_a, ends.gpu_of_b, depth);
  }
  std::unique_ptr<MemorySpace> make_space(int gpu, std::uint64_t bytes_max) const override {
    return make_gpu_space(gpu, bytes_max);
  }
  std::unique_ptr<MemorySpace> make_pinned_space(int gpu) const override {
    return troupe::make_pinned_space(gpu);
  }
};

}  // namespace
}  // namespace troupe

const troupe::CudaModule* troupe_cuda_module(const char* version) {
  static const troupe::LoadedModule module;
  return troupe::version == version ? &module : nullptr;
}
