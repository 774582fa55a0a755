#include "core/memory/scratch_folder.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::string_view name_start = "troupe-";

// Whether all processes that use the file system see each other's locks. Of a network's, another
// host may not.
bool is_local(const std::filesystem::path& directory) {
  struct statfs status {};
  if (statfs(directory.c_str(), &status) != 0) return false;
  const auto type = static_cast<std::uint32_t>(status.f_type);
  constexpr std::array<std::uint32_t, 5> local{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                               TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
  return std::find(local.begin(), local.end(), type) != local.end();
}

// "troupe-4711-0123456789abcdef"
bool is_name_of_scratch_folder(std::string_view name) {
  if (!name.starts_with(name_start)) return false;
  name.remove_prefix(name_start.size());
  const std::size_t pid_digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (pid_digits == 0 || name.size() != pid_digits + 1 + 16 || name[pid_digits] != '-')
    return false;
  return name.find_first_not_of("0123456789abcdef", pid_digits + 1) == std::string_view::npos;
}

// The scratch folders in `directory` that no process has locked. What goes wrong is left as it is.
void remove_abandoned(const std::filesystem::path& directory) {
  if (!is_local(directory)) return;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (!is_name_of_scratch_folder(entry->path().filename().string())) continue;
    std::error_code left;
    if (!entry->is_directory(left) || entry->is_symlink(left)) continue;
    const FolderLock lock(entry->path());  // it gets none of another user's folders
    if (lock.is_held()) std::filesystem::remove_all(entry->path(), left);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& directory) {
  const std::filesystem::path parent = directory.empty() ? temporary_directory() : directory;
  remove_abandoned(parent);
  bool is_taken = true;
  while (is_taken) {
    temporary_.emplace(parent, fmt::format("{}{}-", name_start, getpid()));
    if (mkdir(path().c_str(), 0700) != 0) {
      throw usage_error(fmt::format("can't make a folder in directory '{}': {}", parent.string(),
                                    system_message(errno)),
                        "name a directory that exists and that you may write to");
    }
    lock_.emplace(path());
    // Another process has seen it without a lock, and removes it.
    is_taken = lock_->is_refused() || !std::filesystem::exists(path());
  }
}

ScratchFolder::~ScratchFolder() {
  const std::filesystem::path parent = path().parent_path();
  std::error_code ignored;  // a folder that someone else removed is removed
  std::filesystem::remove_all(path(), ignored);
  lock_.reset();
  remove_abandoned(parent);
}

std::uint64_t ScratchFolder::free_bytes() const {
  struct statvfs fs {};
  if (statvfs(path().c_str(), &fs) != 0) return 0;
  return static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
}

}  // namespace troupe
