#include "core/memory/scratch_folder.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace troupe {

ScratchFolder::ScratchFolder(const std::filesystem::path& directory) {
  const std::filesystem::path parent = directory.empty() ? temporary_directory() : directory;
  temporary_.emplace(parent, fmt::format("troupe-{}-", getpid()));
  if (mkdir(path().c_str(), 0700) != 0) {
    throw usage_error(fmt::format("can't make a folder in directory '{}': {}", parent.string(),
                                  system_message(errno)),
                      "name a directory that exists and that you may write to");
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // a folder that someone else removed is removed
  std::filesystem::remove_all(path(), ignored);
}

std::uint64_t ScratchFolder::free_bytes() const {
  struct statvfs fs {};
  if (statvfs(path().c_str(), &fs) != 0) return 0;
  return static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
}

}  // namespace troupe
