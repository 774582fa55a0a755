// What libtroupe_cuda.so offers to Troupe: the backend for NVIDIA's GPUs. It is a module of its
// own, so that Troupe starts on machines without CUDA.
#pragma once

#include "core/backend/backend.hpp"
#include "core/base/time.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/buffer_pool.hpp"
#include "core/memory/memory_space.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

// A GPU of this host, as the driver numbers them.
struct CudaGpu {
  int number = 0;
  std::string name = {};
  std::string id = {};             // the same in all processes; no other GPU has it
  std::uint64_t memory_bytes = 0;  // installed
  std::uint64_t free_bytes = 0;    // when it was asked
  GpuPeaks peaks = {};
  std::string problem = {};  // why it can't be used, and what to do; empty if it can
};

// What all devices of this process that are a GPU have issued to it.
struct CudaIssued {
  std::uint64_t ops = 0;
  Duration took{0};  // of their threads
};

class CudaModule {
 public:
  virtual ~CudaModule() = default;
  // Why no GPU can be used, and what to do; empty if there is one.
  virtual std::string problem() const = 0;
  virtual int count() const = 0;  // of GPUs, none of which is opened for it
  // Opens the GPU if this process hasn't done so yet.
  virtual CudaGpu gpu(int number) const = 0;
  virtual CudaIssued issued(int gpu) const = 0;
  // Whether each of two GPUs can access the memory of the other. Opens none.
  virtual bool are_peers(int a, int b) const = 0;
  // `gpu`: the number of the GPU that the device is.
  virtual std::unique_ptr<DeviceBackend> make_device(const BackendContext& context, DeviceId id,
                                                     int gpu, std::uint32_t depth) const = 0;
  // As DeviceBackendEntry::warm_up; ops that are as earlier ones of this process are left out.
  virtual void warm_up(int gpu, const Device& device, std::span<const KernelSample> ops) const = 0;
  // Of the GPUs whose memories a link joins; -1: that is memory of the host.
  struct LinkEnds {
    int gpu_of_a = -1;
    int gpu_of_b = -1;
  };
  virtual std::unique_ptr<LinkBackend> make_link(const BackendContext& context, LinkEnds ends,
                                                 std::uint32_t depth) const = 0;
  // Tensors in the memory of a GPU, of which they take so much at most.
  virtual std::unique_ptr<MemorySpace> make_space(int gpu, std::uint64_t bytes_max) const = 0;
  // Tensors in memory of the host whose pages stay where they are, so that GPUs copy it themselves:
  // all of them, though only `gpu` is opened for it.
  virtual std::unique_ptr<MemorySpace> make_pinned_space(int gpu) const = 0;
};

// The order of all CUDA streams of this process.
inline constexpr std::string_view cuda_order = "cuda";
// Ops of a stream, or chunks of a direction, that are issued and not done, if the machine file
// doesn't say.
inline constexpr std::uint32_t cuda_issue_depth = 64;
// The workspace of cuBLAS for each stream, as NVIDIA recommends for Hopper.
inline constexpr std::uint64_t cuda_workspace_bytes = 32 << 20;
// What a handle of cuBLAS takes of a GPU's memory for itself, on an H200; each stream has one.
inline constexpr std::uint64_t cuda_handle_bytes = 64 << 20;

}  // namespace troupe

// The entry of the module. Returns null if `version` isn't its own.
extern "C" const troupe::CudaModule* troupe_cuda_module(const char* version);
