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

// Of a folder that its process has locked, so that others may see whether it lives.
constexpr std::string_view locked = "troupe-storage-";
// Of one that can't be.
constexpr std::string_view unlocked = "troupe-";

// Whether all processes that use the file system here see each other's locks. One that a network
// brings here, other hosts use, too.
bool is_local(const std::filesystem::path& directory) {
  struct statfs status {};
  if (statfs(directory.c_str(), &status) != 0) return false;
  const auto type = static_cast<std::uint32_t>(status.f_type);
  constexpr std::array<std::uint32_t, 5> local{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                               TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
  return std::find(local.begin(), local.end(), type) != local.end();
}

// "troupe-storage-4711-0123456789abcdef"
bool is_name_of_locked(std::string_view name) {
  if (!name.starts_with(locked)) return false;
  name.remove_prefix(locked.size());
  const std::size_t pid_digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (pid_digits == 0 || name.size() != pid_digits + 1 + 16 || name[pid_digits] != '-')
    return false;
  return name.find_first_not_of("0123456789abcdef", pid_digits + 1) == std::string_view::npos;
}

bool is_folder_of_this_user(const std::filesystem::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

// Those in `directory` whose locks are free. What goes wrong is left as it is.
void remove_abandoned(const std::filesystem::path& directory) {
  if (!is_local(directory)) return;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(directory, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (!is_name_of_locked(entry->path().filename().string())) continue;
    if (!is_folder_of_this_user(entry->path())) continue;
    const FolderLock lock(entry->path());
    std::error_code left;
    if (lock.is_held()) std::filesystem::remove_all(entry->path(), left);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& directory) {
  const std::filesystem::path parent = directory.empty() ? temporary_directory() : directory;
  remove_abandoned(parent);
  bool can_be_locked = is_local(parent);
  while (true) {
    temporary_.emplace(parent, fmt::format("{}{}-", can_be_locked ? locked : unlocked, getpid()));
    if (mkdir(path().c_str(), 0700) != 0) {
      throw usage_error(fmt::format("can't make a folder in directory '{}': {}", parent.string(),
                                    system_message(errno)),
                        "name a directory that exists and that you may write to");
    }
    if (!can_be_locked) return;
    lock_.emplace(path());
    if (lock_->is_held() && std::filesystem::exists(path())) return;
    // Else another process has seen it before it was locked, and removes it.
    can_be_locked = lock_->is_held() || lock_->is_refused();
    if (!can_be_locked) std::filesystem::remove(path());
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
