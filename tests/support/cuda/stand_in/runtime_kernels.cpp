// libcudart: what nvcc's code calls to register and launch kernels, and functions about kernels.
#include "tests/support/cuda/stand_in/api.hpp"
#include "tests/support/cuda/stand_in/kernels.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace troupe::testing;

namespace {

// What <<<...>>> holds, between its evaluation and the call of the kernel's stub.
struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

cudaError_t launch_kernel(const void* function, dim3 grid, dim3 block, void** args,
                          std::size_t shared_bytes, cudaStream_t stream) {
  return api([&](Engine& e) { launch(e, function, grid, block, args, shared_bytes, stream); });
}

}  // namespace

// The headers declare most of these only for nvcc, which gives them their names.
extern "C" {

void** __cudaRegisterFatBinary(void* binary) {
  return std::make_unique<void*>(binary).release();
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** handle) {
  unregister_kernels(handle);
  const std::unique_ptr<void*> ends(handle);
}
char __cudaInitModule(void** /*handle*/) {
  return 1;
}

void __cudaRegisterFunction(void** handle, const char* stub, char* /*device_function*/,
                            const char* mangled, int /*thread_limit*/, uint3* /*thread*/,
                            uint3* /*block*/, dim3* /*block_size*/, dim3* /*grid_size*/,
                            int* /*warp_size*/) {
  register_kernel(stub, mangled, handle);
}

void __cudaRegisterVar(void** /*handle*/, char* /*host*/, char* /*device*/, const char* name,
                       int /*is_extern*/, std::size_t /*bytes*/, int is_constant, int /*global*/) {
  // Constants have the same values in the kernels' bodies.
  if (is_constant != 0) return;
  Engine& e = engine();
  const std::lock_guard lock(e.mutex);
  e.control.fail(std::string("the variable ") + name + " of a device isn't supported");
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                     CUstream_st* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                       void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = find_kernel(stub);
  return *kernel != nullptr ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return launch_kernel(kernel, grid, block, args, shared_bytes, stream);
}

}  // extern "C"

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch_kernel(function, grid, block, args, shared_bytes, stream);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_size, size_t shared_bytes) {
  return api([&](Engine& e) {
    require_kernel_image(e, current_device());
    require(find_kernel(function) != nullptr, cudaErrorInvalidDeviceFunction);
    require(block_size >= 1 && block_size <= 1024);
    const int by_shared = static_cast<int>((std::size_t{100} << 10U) / (shared_bytes + 1024));
    *blocks = std::min(2048 / block_size, by_shared);
  });
}
