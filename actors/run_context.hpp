// What the actors of one run have in common.
#pragma once

#include "actors/clock.hpp"
#include "actors/run_setting.hpp"
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
  const RunSetting& setting;
};

}  // namespace troupe
