// What the actors of one run have in common.
#pragma once

#include "actors/clock.hpp"
#include "core/backend/backend.hpp"
#include "core/backend/memory_store.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"

namespace troupe {

// All that is referred to must outlive the actors.
struct RunContext {
  const Machine& machine;
  const OpRegistry& ops;
  MemoryStore& store;
  Clock& clock;
  Mode mode;
};

}  // namespace troupe
