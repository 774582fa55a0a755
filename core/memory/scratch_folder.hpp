// A temporary folder of this process, which exists as long as the object does.
#pragma once

#include "core/base/folder_lock.hpp"
#include "core/base/temporary_path.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace troupe {

class ScratchFolder {
 public:
  // Creates `directory`/troupe-storage-<pid>-<random>, or troupe-<pid>-<random> where files can't
  // be locked; if `directory` is empty, in temporary_directory(). On file systems of this host,
  // removes such folders of this user whose processes were killed. Throws a usage Error (without a
  // place) if no folder can be made.
  explicit ScratchFolder(const std::filesystem::path& directory);
  ~ScratchFolder();  // removes the folder with its files, and those of processes killed meanwhile
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return temporary_->path(); }
  // Free bytes of its file system for this user.
  std::uint64_t free_bytes() const;

 private:
  std::optional<TemporaryPath> temporary_;  // a signal that ends the process removes the folder
  std::optional<FolderLock> lock_;          // by which others see that the process lives
};

}  // namespace troupe
