// A file to which results of a run are saved.
#pragma once

#include "core/base/error.hpp"
#include "core/base/id.hpp"

#include <filesystem>
#include <vector>

namespace troupe {

// .npy takes one op, .safetensors takes several and names each tensor as its op.
struct SavedFile {
  std::filesystem::path path;
  std::vector<OpId> ops;   // in the order they are saved
  SourcePlace place = {};  // in the user's file
};

}  // namespace troupe
