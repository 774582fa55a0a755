#include "core/backend/cuda/gpu_peaks.hpp"

#include "core/machine/pci_link.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include <cuda_runtime_api.h>

namespace troupe {
namespace {

double attribute(cudaDeviceAttr name, int gpu) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, name, gpu) == cudaSuccess) return std::max(value, 0);
  cudaGetLastError();  // is handled
  return 0;
}

// Results of a multiply-add of float32 that a multiprocessor has in a clock, by compute capability
// (CUDA C++ Programming Guide, "Arithmetic Instructions").
double lanes_of(int major, int minor) {
  const bool has_64 = major < 8 || (major == 8 && minor == 0);
  return has_64 ? 64 : 128;
}

std::filesystem::path folder_of(int gpu) {
  std::array<char, 32> id{};
  if (cudaDeviceGetPCIBusId(id.data(), id.size(), gpu) != cudaSuccess) {
    cudaGetLastError();  // is handled
    return {};
  }
  std::string name = id.data();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return "/sys/bus/pci/devices/" + name;
}

}  // namespace

GpuPeaks peaks_of_gpu(int gpu) {
  constexpr double khz = 1e3;
  const double lanes =
      lanes_of(static_cast<int>(attribute(cudaDevAttrComputeCapabilityMajor, gpu)),
               static_cast<int>(attribute(cudaDevAttrComputeCapabilityMinor, gpu)));
  // Memory moves data twice in a clock; the bus is as wide as so many bits.
  return {.flops = 2 * lanes * attribute(cudaDevAttrMultiProcessorCount, gpu) *
                   attribute(cudaDevAttrClockRate, gpu) * khz,
          .bandwidth = 2 * attribute(cudaDevAttrMemoryClockRate, gpu) * khz *
                       attribute(cudaDevAttrGlobalMemoryBusWidth, gpu) / 8,
          .link_bandwidth = pci_link_bandwidth(folder_of(gpu))};
}

}  // namespace troupe
