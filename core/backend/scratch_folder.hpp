// A folder of this process alone, inside a directory, for as long as the object lives.
#pragma once

#include "core/base/temporary_path.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace troupe {

class ScratchFolder {
 public:
  // Makes `directory`/troupe-<pid>-<random>; an empty directory is the system's temporary one.
  // Throws a usage Error (without a place) where that can't be done.
  explicit ScratchFolder(const std::filesystem::path& directory);
  ~ScratchFolder();  // removes it with all it holds
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // What its file system has left for this user.
  std::uint64_t free_bytes() const;

 private:
  std::filesystem::path path_;
  std::optional<TemporaryPath> temporary_;  // a signal that ends the process removes the folder
};

}  // namespace troupe
