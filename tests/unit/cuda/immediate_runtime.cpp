#include "tests/unit/cuda/immediate_runtime.hpp"

#include "tests/support/cuda/kernel_bodies.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <cuda_runtime_api.h>

namespace troupe::testing {
namespace {

// A kernel's stub is the function that a launch calls on the host. Its address stands for the
// kernel.
std::map<const void*, std::string>& names_by_stub() {
  static std::map<const void*, std::string> names;
  return names;
}

}  // namespace

std::vector<std::string> registered_kernels() {
  std::vector<std::string> names;
  for (const auto& [stub, name] : names_by_stub()) names.push_back(name);
  return names;
}

}  // namespace troupe::testing

using namespace troupe::testing;

// What nvcc emits calls of. Its headers declare only some of these functions.
extern "C" {

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, void*, void*,
                            void*, void*, int*) {
  names_by_stub()[stub] = name;
}

// Stubs call these. Nothing here calls stubs: launchers give kernels to cudaLaunchKernel().
unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, cudaStream_t) {
  std::abort();
}
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
  std::abort();
}
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*) {
  std::abort();
}
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t) {
  std::abort();
}

}  // extern "C"

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** args,
                             std::size_t shared_bytes, cudaStream_t) {
  const std::string& name = names_by_stub().at(stub);
  const KernelBody* const body = find_kernel_body(name);
  if (body == nullptr) {
    std::fprintf(stderr, "no body for %s\n", name.c_str());
    std::abort();
  }
  body->run({grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, args);
  return cudaSuccess;
}
cudaError_t cudaPeekAtLastError() {
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t) {
  return "unknown";
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return posix_memalign(memory, 256, bytes) == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeHost(void* memory) {
  return cudaFree(memory);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
