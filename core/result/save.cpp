#include "core/result/save.hpp"

#include "core/base/assert.hpp"
#include "core/files/data_file.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace troupe {
namespace {

// Null if the plan doesn't keep it.
const Plan::Result* find_kept(const Plan& plan, OpId op) {
  const auto found =
      std::lower_bound(plan.results.begin(), plan.results.end(), op,
                       [](const Plan::Result& r, OpId wanted) { return r.op < wanted; });
  const bool is_it = found != plan.results.end() && found->op == op && found->is_kept;
  return is_it ? &*found : nullptr;
}

}  // namespace

bool keeps_all(const Plan& plan, const SavedFile& file) {
  return std::all_of(file.ops.begin(), file.ops.end(),
                     [&](OpId op) { return find_kept(plan, op) != nullptr; });
}

void save_results(const Graph& graph, const Plan& plan, Results& results, const SavedFile& file) {
  std::vector<NamedType> tensors;
  for (const OpId op : file.ops) tensors.push_back({graph.name(op), graph.type(op)});
  save_tensors(file.path, tensors, [&](std::size_t i) {
    const Plan::Result* const result = find_kept(plan, file.ops[i]);
    TROUPE_ASSERT(result != nullptr);
    return results.values(result->replica);
  });
}

}  // namespace troupe
