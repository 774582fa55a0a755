#include "core/backend/cpu_job.hpp"

#include "core/base/assert.hpp"

namespace troupe {

void CpuJob::prepare(const OpRegistry& ops, const MemoryStore& store, const KernelCall& call) {
  kernel_ = ops[call.kind].cpu;
  TROUPE_ASSERT(kernel_ != nullptr);
  inputs_.clear();
  for (const ReplicaId r : call.inputs) {
    inputs_.push_back({.type = store.type(r), .data = store.data(r)});
    TROUPE_ASSERT(inputs_.back().data != nullptr);
  }
  output_type_ = &store.type(call.output);
  output_ = store.data(call.output);
  TROUPE_ASSERT(output_ != nullptr);
  attrs_ = call.attrs;
  index_ = call.index;
}

void CpuJob::compute(Team& team) const {
  kernel_({.inputs = inputs_,
           .output = {.type = *output_type_, .data = output_},
           .attrs = *attrs_,
           .team = team,
           .index = index_});
}

}  // namespace troupe
