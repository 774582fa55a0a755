// One op made ready for its CPU kernel.
#pragma once

#include "core/backend/backend.hpp"

#include <vector>

namespace troupe {

class CpuJob {
 public:
  // The tensors must be in RAM and acquired. `call` may go once this returns; its attributes are
  // the share's and stay.
  void prepare(const OpRegistry& ops, const MemoryStore& store, const KernelCall& call);

  // Runs the kernel on the calling thread and `team`; blocks. Throws what the kernel throws.
  void compute(Team& team) const;

 private:
  CpuKernel kernel_ = nullptr;
  std::vector<ConstTensorView> inputs_;
  const TensorType* output_type_ = nullptr;
  std::byte* output_ = nullptr;
  const Attrs* attrs_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace troupe
