// libcudart: devices, versions and errors.
#include "tests/support/cuda/stand_in/api.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

using namespace troupe::testing;

namespace {

constexpr int multiprocessors = 4;
constexpr int compute_major = 9;
constexpr int compute_minor = 0;
constexpr int shared_bytes = 48 << 10;
constexpr int shared_bytes_opt_in = 99 << 10;

constexpr auto attributes = std::to_array<std::pair<cudaDeviceAttr, int>>({
    {cudaDevAttrMultiProcessorCount, multiprocessors},
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrMaxSharedMemoryPerBlock, shared_bytes},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, shared_bytes_opt_in},
    {cudaDevAttrComputeCapabilityMajor, compute_major},
    {cudaDevAttrComputeCapabilityMinor, compute_minor},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxGridDimX, 0x7fffffff},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrAsyncEngineCount, 2},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrClockRate, 1'000'000},        // kHz
    {cudaDevAttrMemoryClockRate, 1'000'000},  // kHz
    {cudaDevAttrGlobalMemoryBusWidth, 256},
    {cudaDevAttrL2CacheSize, 4 << 20},
    {cudaDevAttrIntegrated, 0},
    {cudaDevAttrComputeMode, 0},
    {cudaDevAttrPageableMemoryAccess, 0},
});

int number_on_host(const Engine& e, int device) {
  return static_cast<int>(e.control.first_device) + device;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  *version = static_cast<int>(e.control.driver_version);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return api([&](Engine& e) { *count = e.device_count(); }, CallKind::any_device);
}

cudaError_t cudaSetDevice(int device) {
  return api(
      [&](Engine& e) {
        require_device(e, device);
        current_device() = device;
        e.throw_if_broken(device);
      },
      CallKind::any_device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api(
      [&](Engine& e) {
        require_device(e, device);
        const int number = number_on_host(e, device);
        *properties = {};
        std::snprintf(properties->name, sizeof properties->name, "Stand-in for a GPU, %d", number);
        std::memset(properties->uuid.bytes, number + 1, sizeof properties->uuid.bytes);
        properties->totalGlobalMem = e.memory.capacity();
        properties->sharedMemPerBlock = shared_bytes;
        properties->sharedMemPerBlockOptin = shared_bytes_opt_in;
        properties->sharedMemPerMultiprocessor = 100 << 10;
        properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
        properties->warpSize = 32;
        properties->maxThreadsPerBlock = 1024;
        properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
        properties->maxThreadsDim[2] = 64;
        properties->maxGridSize[0] = 0x7fffffff;
        properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
        properties->major = compute_major;
        properties->minor = compute_minor;
        properties->multiProcessorCount = multiprocessors;
        properties->maxThreadsPerMultiProcessor = 2048;
        properties->canMapHostMemory = properties->unifiedAddressing = 1;
        properties->concurrentKernels = 1;
        properties->asyncEngineCount = 2;
        properties->hostRegisterSupported = 1;
        properties->memoryBusWidth = 256;
        properties->l2CacheSize = 4 << 20;
        properties->pciBusID = number + 1;
      },
      CallKind::any_device);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api(
      [&](Engine& e) {
        require_device(e, device);
        if (attribute == cudaDevAttrPciBusId) {
          *value = number_on_host(e, device) + 1;
          return;
        }
        const auto* found = std::find_if(attributes.begin(), attributes.end(),
                                         [&](const auto& each) { return each.first == attribute; });
        if (found == attributes.end()) {
          e.control.fail("cudaDeviceGetAttribute: the stand-in has no attribute " +
                         std::to_string(static_cast<int>(attribute)));
          throw CudaFailure{cudaErrorInvalidValue};
        }
        *value = found->second;
      },
      CallKind::any_device);
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return api(
      [&](Engine& e) {
        require_device(e, device);
        require(bytes >= 13);
        std::snprintf(text, static_cast<std::size_t>(bytes),
                      "FFFF:%02X:00.0",  // no device of this host
                      number_on_host(e, device) + 1);
      },
      CallKind::any_device);
}

cudaError_t cudaDeviceSynchronize() {
  return api([](Engine& e) { e.wait_for_device(current_device(), "cudaDeviceSynchronize"); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return api(
      [&](Engine& e) {
        require_device(e, device);
        require_device(e, peer);
        *can = device != peer && e.control.no_peer_access == 0 ? 1 : 0;
      },
      CallKind::any_device);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api([&](Engine& e) {
    require_device(e, peer);
    require(flags == 0);
    require(peer != current_device(), cudaErrorInvalidDevice);
    require(e.control.no_peer_access == 0, cudaErrorPeerAccessUnsupported);
    require(e.control.peers_refused == 0, cudaErrorTooManyPeers);
    require(e.enable_peer(current_device(), peer), cudaErrorPeerAccessAlreadyEnabled);
  });
}

cudaError_t cudaPeekAtLastError() {
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  const cudaError_t sticky = e.error_of(current_device());
  return sticky != cudaSuccess ? sticky : last_error();
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  last_error() = cudaSuccess;
  return error;
}
