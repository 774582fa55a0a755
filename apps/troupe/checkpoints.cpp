#include "apps/troupe/checkpoints.hpp"

#include "core/base/error.hpp"
#include "core/result/run_digest.hpp"

namespace troupe {

RunCheckpoints::RunCheckpoints(const RunArguments& arguments, const RunFile& file,
                               const std::vector<Scenario>& scenarios) {
  if (arguments.checkpoint_folder.empty()) {
    if (arguments.checkpoint_s == 0) return;
    throw usage_error("--checkpoint doesn't say where checkpoints are to be kept",
                      "add --checkpoint-dir DIR");
  }
  folder.emplace(arguments.checkpoint_folder, run_digest(file.graph, scenarios, file.saves));
  if (arguments.resumes) {
    resumed = folder->load(file.graph);
  } else {
    folder->check_empty();
  }
  if (arguments.checkpoint_s > 0) folder->check_writable();
}

}  // namespace troupe
