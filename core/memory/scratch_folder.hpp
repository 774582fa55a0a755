// A temporary folder of this process, which exists as long as the object does.
#pragma once

#include "core/base/temporary_path.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace troupe {

class ScratchFolder {
 public:
  // Creates `directory`/troupe-<pid>-<random>; if `directory` is empty, in temporary_directory().
  // Throws a usage Error (without a place) if that fails.
  explicit ScratchFolder(const std::filesystem::path& directory);
  ~ScratchFolder();  // removes the folder and its files
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return temporary_->path(); }
  // Free bytes of its file system for this user.
  std::uint64_t free_bytes() const;

 private:
  std::optional<TemporaryPath> temporary_;  // a signal that ends the process removes the folder
};

}  // namespace troupe
