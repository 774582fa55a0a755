#include "core/backend/scratch_folder.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace troupe {

ScratchFolder::ScratchFolder(const std::filesystem::path& directory) {
  const std::filesystem::path parent = directory.empty() ? temporary_directory() : directory;
  std::string name = (parent / fmt::format("troupe-{}-XXXXXX", getpid())).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw usage_error(fmt::format("can't make a folder in directory '{}': {}", parent.string(),
                                  std::generic_category().message(errno)),
                      "name a directory that exists and that you may write to");
  }
  path_ = std::filesystem::absolute(name);
  temporary_.emplace(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // a folder that someone else removed is removed
  std::filesystem::remove_all(path_, ignored);
}

std::uint64_t ScratchFolder::free_bytes() const {
  struct statvfs fs {};
  if (statvfs(path_.c_str(), &fs) != 0) return 0;
  return static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
}

}  // namespace troupe
