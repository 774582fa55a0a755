// A folder for the files of a benchmark, which is removed however the benchmark ends.
#pragma once

#include <filesystem>

#include <sys/types.h>

namespace troupe::bench {

// A new and empty folder, removed with this object. If a signal ends this process before, SIGKILL
// included, a process that was started with the folder removes it, as soon as all programs have
// ended that this one started.
class TemporaryFolder {
 public:
  // Throws a run Error if there can't be a folder in `parent`, or no process.
  explicit TemporaryFolder(const std::filesystem::path& parent);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  void end_remover() const;

  std::filesystem::path path_;
  int held_ = -1;  // the end of a pipe: the last process that has it ends
  pid_t remover_ = -1;
};

}  // namespace troupe::bench
