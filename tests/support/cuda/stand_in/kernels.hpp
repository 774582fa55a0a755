// Kernels that programs have registered, and their bodies on the CPU.
#pragma once

#include "tests/support/cuda/kernel_bodies.hpp"
#include "tests/support/cuda/stand_in/engine.hpp"

#include <string>

#include <cuda_runtime_api.h>

// The type behind cudaKernel_t. Lives for ever.
struct CUkern_st {
  std::string mangled;
  std::string readable;
  const troupe::testing::KernelBody* body = nullptr;
};

namespace troupe::testing {

// `stub` is the host function of a kernel, by which programs name it. Thread-safe, and may be
// called before main().
void register_kernel(const void* stub, const char* mangled, const void* binary);
void unregister_kernels(const void* binary);
// `function` is a stub or a cudaKernel_t. Returns null if there is no such kernel.
CUkern_st* find_kernel(const void* function);

// Reports registered kernels without a body.
void check_kernels(Control& control);

// What a launch of the kernel on the device does. Its accesses are taken from its parameters: a
// pointer to const reads, any other pointer writes, the whole allocation that the pointer leads to.
// Of pinned memory, it is the 4 bytes there: kernels of Troupe use such memory only for flags.
Work kernel_work(Engine& engine, int device, const void* function, dim3 grid, dim3 block,
                 void** args, std::size_t shared_bytes);

// Enqueues the kernel.
void launch(Engine& engine, const void* function, dim3 grid, dim3 block, void** args,
            std::size_t shared_bytes, cudaStream_t on);

}  // namespace troupe::testing
