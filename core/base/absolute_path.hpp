// Paths from the root on.
#pragma once

#include <filesystem>

namespace troupe {

// Throws a usage Error if the path is relative, and the folder in which this process works is gone.
std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace troupe
