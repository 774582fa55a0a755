// Are the results of a real run right? Each is compared with that of a serial execution.
#pragma once

#include "core/backend/memory_store.hpp"
#include "core/graph/graph.hpp"
#include "core/plan/plan.hpp"

#include <functional>
#include <string>

namespace troupe {

struct Verdict {
  bool equal = true;
  bool complete = true;  // false: `keep_going` ended it
  std::string mismatch;  // the first tensor that differs, and where; empty where equal
};

// Executes the plan's ops serially on the calling thread (blocking for about the serial time) and
// compares each of the plan's results with what that gives: one that is kept in `store` bit for
// bit, any other by the digest that it left there. `keep_going` is asked once an op.
// Throws a run Error where a result can't be read or a kernel fails.
Verdict verify(const Graph& graph, const Plan& plan, const MemoryStore& store,
               const std::function<bool()>& keep_going);

}  // namespace troupe
