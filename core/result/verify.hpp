// Verification: compares each result of a real run with that of a serial execution.
#pragma once

#include "core/graph/graph.hpp"
#include "core/plan/plan.hpp"
#include "core/result/results.hpp"

#include <functional>
#include <string>

namespace troupe {

struct Verdict {
  bool equal = true;
  bool complete = true;  // false: `keep_going` returned false
  std::string mismatch;  // the first tensor that differs, and where; empty if equal
};

// Executes the plan's ops serially on the calling thread and compares each of the plan's results:
// bit for bit if the tensor is kept in this process, otherwise by its digest. Blocks for about the
// serial time, or until `keep_going`, which is called once per op, returns false. Throws a run
// Error if a result can't be read or a kernel fails.
Verdict verify(const Graph& graph, const Plan& plan, Results& results,
               const std::function<bool()>& keep_going);

}  // namespace troupe
