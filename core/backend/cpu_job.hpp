// Runs one op through its CPU kernel, with tensors from the memory store.
#pragma once

#include "core/backend/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

class CpuJob {
 public:
  // The tensors must be in RAM and acquired. `call` needs to live only until prepare() returns, but
  // its attributes must outlive compute().
  void prepare(const OpRegistry& ops, const MemoryStore& store, const KernelCall& call);

  // Runs the kernel on the calling thread and `team`. Blocks until the kernel has finished. Throws
  // a run Error if the kernel throws anything.
  void compute(Team& team) const;

 private:
  CpuKernel kernel_ = nullptr;
  std::vector<ConstTensorView> inputs_;
  const TensorType* output_type_ = nullptr;
  std::byte* output_ = nullptr;
  std::vector<TensorView> further_outputs_;
  const Attrs* attrs_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace troupe
