// Saves results of a run to files.
#pragma once

#include "core/graph/graph.hpp"
#include "core/graph/saved_file.hpp"
#include "core/plan/plan.hpp"
#include "core/result/results.hpp"

namespace troupe {

// Whether the plan keeps all results that the file takes (see PlanOptions::saved).
bool keeps_all(const Plan& plan, const SavedFile& file);

// Writes the file; the plan must keep all its results. The file appears only when it is complete.
// Blocks. Throws an Error if it can't be written, or a result can't be read.
void save_results(const Graph& graph, const Plan& plan, Results& results, const SavedFile& file);

}  // namespace troupe
