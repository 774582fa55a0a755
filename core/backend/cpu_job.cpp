#include "core/backend/cpu_job.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <exception>
#include <new>

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
  constexpr const char* what_to_do = "see what the kernel of this op does with its inputs";
  try {
    kernel_({.inputs = inputs_,
             .output = {.type = *output_type_, .data = output_},
             .further_outputs = further_outputs_,
             .attrs = *attrs_,
             .team = team,
             .index = index_});
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw run_error("its kernel got no memory of this host",
                    "free some, or let it compute with smaller tensors");
  } catch (const std::exception& e) {
    throw run_error(
        *e.what() == '\0' ? "its kernel threw an exception without a message" : e.what(),
        what_to_do);
  } catch (...) {
    throw run_error("its kernel threw something that is no std::exception", what_to_do);
  }
}

}  // namespace troupe
