// The options --checkpoint, --checkpoint-dir and --resume.
#pragma once

#include "apps/troupe/commands.hpp"
#include "core/config/run_file.hpp"
#include "core/graph/scenario.hpp"
#include "core/result/checkpoint.hpp"

#include <optional>
#include <vector>

namespace troupe {

struct RunCheckpoints {
  std::optional<CheckpointFolder> folder;
  std::optional<Checkpoint> resumed;

  // Opens the folder, and loads the checkpoint to go on from. Blocks. Throws a usage Error if the
  // folder isn't fit, or has no checkpoint of these scenarios.
  RunCheckpoints(const RunArguments& arguments, const RunFile& file,
                 const std::vector<Scenario>& scenarios);
};

}  // namespace troupe
