// The objects that all actors of one run use.
#pragma once

#include "actors/clock.hpp"
#include "actors/run_setting.hpp"
#include "core/backend/link_use.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/memory_store.hpp"
#include "core/ops/registry.hpp"
#include "core/plan/share.hpp"

#include <atomic>
#include <cstddef>
#include <span>

namespace troupe {

inline const std::atomic<bool> never_interrupted = false;

// The objects referred to must outlive the actors.
struct RunContext {
  const Machine& machine;
  const OpRegistry& ops;
  MemoryStore& store;
  Clock& clock;
  const RunSetting& setting;
  // From when it is true, resources start no items. Where thousands of them are at work, messages
  // that say so would take minutes.
  const std::atomic<bool>& interrupted = never_interrupted;
  NetworkPort* network = nullptr;  // to the other nodes of the run; null: there are none
  std::span<LinkUse> uses = {};    // by LinkId; empty: nobody asks

  // Where it is kept how a link copies; null: nobody asks, or the resource is a device.
  LinkUse* use_of(ResourceId resource) const {
    const std::size_t devices = machine.devices.size();
    if (uses.empty() || resource.index() < devices) return nullptr;
    return &uses[resource.index() - devices];
  }
};

}  // namespace troupe
