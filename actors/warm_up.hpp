// What a device does before the clock starts, so that its first ops take no longer than others.
#pragma once

#include "actors/run_context.hpp"
#include "core/ops/registry.hpp"
#include "core/plan/share.hpp"

namespace troupe {

// The kernels of a share and an item of each, without the items' successors: all that the functions
// below look at. No item has values of this process only among its attributes.
Share kernel_samples(const Share& share);

// Loads the libraries that the share's kernels need, where they aren't loaded yet. Throws a run
// Error if one can't be loaded.
void load_kernels(const OpRegistry& ops, const Share& share);

// Lets the device of a share compute an op of each kernel, if its backend asks for that: see
// DeviceBackendEntry::warm_up. Leaves out long ops, and what would take more than a second in all.
// The share's replicas must be installed. Blocks. Throws a run Error if the device is of no use any
// more.
void warm_up_kernels(const RunContext& context, ResourceId resource, const Share& share);

}  // namespace troupe
