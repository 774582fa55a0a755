// A folder that one process uses at a time.
#pragma once

#include <filesystem>

namespace troupe {

class FolderLock {
 public:
  // Blocks briefly. Where the file system knows no locks, nothing is locked.
  explicit FolderLock(const std::filesystem::path& folder);
  // The lock ends with the process, however that ends.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Whether somebody else has locked the folder.
  bool is_refused() const { return is_refused_; }
  // Neither: there is no such folder, it can't be opened, or its file system knows no locks.
  bool is_held() const { return is_held_; }

 private:
  int folder_ = -1;
  bool is_held_ = false;
  bool is_refused_ = false;
};

}  // namespace troupe
