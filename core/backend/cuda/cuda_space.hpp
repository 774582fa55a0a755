// Tensors in the memory of a GPU, and in pinned memory of the host.
#pragma once

#include "core/backend/cuda/cuda_owned.hpp"
#include "core/memory/memory_space.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace troupe {

// Keeps what is freed for tensors of the same size, as allocating may wait for the GPU; beyond
// `bytes_max`, what is kept of other sizes is given back first. Reading and writing a tensor block
// until its bytes have been copied.
std::unique_ptr<MemorySpace> make_gpu_space(int gpu, std::uint64_t bytes_max);
// Gives back what all such spaces keep of the GPU's memory and no tensor is in.
void free_kept_memory(int gpu);
// Calls f(), which takes memory of the GPU and returns the status of a CUDA library: once more, if
// it fails, without what is kept for tensors.
template <class F>
auto with_kept_memory(int gpu, const F& f) {
  using Status = decltype(f());
  if (const Status status = f(); status == Status{}) return status;  // which is success in all
  cudaGetLastError();  // if there is more to it than a lack of memory, the next call says so, too
  free_kept_memory(gpu);
  return f();
}
// As allocate_memory().
OwnedMemory allocate_on(int gpu, std::size_t bytes, std::string_view what);

// A host space whose pool tells CUDA of its pages, so that copies to and from GPUs are made by the
// GPUs, beside all else. `gpu`: the one that is opened for it.
std::unique_ptr<MemorySpace> make_pinned_space(int gpu);

}  // namespace troupe
