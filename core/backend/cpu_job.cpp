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
  outputs_.clear();
  for (std::uint32_t k = 0; k <= call.further; ++k) {
    const MemoryStore::View output = store.view(ReplicaId{call.output.value + k});
    TROUPE_ASSERT(output.data != nullptr);
    outputs_.push_back({.type = output.type, .data = output.data});
  }
  attrs_ = call.attrs;
  index_ = call.index;
}

void CpuJob::compute(Team& team) const {
  try {
    kernel_({.inputs = inputs_,
             .output = outputs_.front(),
             .further_outputs = std::span(outputs_).subspan(1),
             .attrs = *attrs_,
             .team = team,
             .index = index_});
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw run_error(e.what());
  } catch (...) {
    throw run_error("its kernel threw something that is no std::exception");
  }
}

}  // namespace troupe
