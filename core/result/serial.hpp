// The serial execution with which real runs are compared: one op after another on one thread,
// without devices and links.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/op_ranges.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace troupe {

// Executes `ops` in this order with the CPU kernels on the calling thread. Each input must be the
// output of an earlier op of `ops`. `widest_team`: that of the run whose results these are compared
// with. Calls `visit` with each result when its op is done, and frees a result after its last
// reader. Blocks until done, or until `visit` returns false. Throws a run Error if a kernel fails.
void run_serial(const Graph& graph, const OpRanges& ops, std::int64_t widest_team,
                const std::function<bool(OpId, std::span<const std::byte>)>& visit);

}  // namespace troupe
