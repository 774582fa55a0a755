#include "core/backend/cpu_job.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <exception>

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
  TROUPE_ASSERT(output.data != nullptr);
  output_type_ = &output.type;
  output_ = output.data;
  further_outputs_.clear();
  for (std::uint32_t k = 1; k <= call.further; ++k) {
    const MemoryStore::View further = store.view(ReplicaId{call.output.value + k});
    TROUPE_ASSERT(further.data != nullptr);
    further_outputs_.push_back({.type = further.type, .data = further.data});
  }
  attrs_ = call.attrs;
  index_ = call.index;
}

void CpuJob::compute(Team& team) const {
  try {
    kernel_({.inputs = inputs_,
             .output = {.type = *output_type_, .data = output_},
             .further_outputs = further_outputs_,
             .attrs = *attrs_,
             .team = team,
             .index = index_});
  } catch (const std::exception& e) {
    if (*e.what() == '\0') throw run_error("its kernel threw an exception without a message");
    if (dynamic_cast<const Error*>(&e) != nullptr) throw;
    throw run_error(e.what());
  } catch (...) {
    throw run_error("its kernel threw something that is no std::exception");
  }
}

}  // namespace troupe
