#include "core/base/absolute_path.hpp"

#include "core/base/error.hpp"

#include <system_error>

#include <fmt/format.h>

namespace troupe {

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code gone;
  std::filesystem::path absolute = std::filesystem::absolute(path, gone);
  if (!gone) return absolute;
  throw usage_error(
      fmt::format("the whole path of '{}' can't be found: {}", path.string(), gone.message()),
      "the current folder may be gone; change to one that is there, or write whole paths");
}

}  // namespace troupe
