#include "core/backend/cpu_job.hpp"

#include "core/base/assert.hpp"

namespace troupe {

void CpuJob::prepare(const OpRegistry& ops, const MemoryStore& store, const KernelCall& call) {
  kernel_ = ops[call.kind].cpu;
  TROUPE_ASSERT(kernel_ != nullptr);
  inputs_.clear();
  for (const ReplicaId r : call.inputs) {
    const MemoryStore::View input = store.view_to_release(r);
    TROUPE_ASSERT(input.data != nullptr);
    inputs_.push_back({.type = input.type, .data = input.data});
  }
  const MemoryStore::View output = store.view(call.output);
  output_type_ = &output.type;
  output_ = output.data;
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
