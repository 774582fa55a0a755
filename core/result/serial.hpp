// The serial execution that real runs are compared with: one op after another, one thread, no
// devices, no links.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/op_ranges.hpp"

#include <functional>
#include <span>

namespace troupe {

// Executes `ops` (in this order; each input must be made by an earlier one) with the CPU kernels on
// the calling thread and hands each result to `visit` as soon as it is made; a result is freed
// after its last reader. Blocks until done, or until `visit` returns false. Throws a run Error
// where a kernel fails.
void run_serial(const Graph& graph, const OpRanges& ops,
                const std::function<bool(OpId, std::span<const std::byte>)>& visit);

}  // namespace troupe
