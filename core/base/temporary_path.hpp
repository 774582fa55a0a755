// A file or folder that must not outlive this process, even where a signal ends it.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>

namespace troupe {

// The system's directory for temporary files. Throws a usage Error that says which variable
// (TMPDIR, say) names no directory.
std::filesystem::path temporary_directory();

// Remembers the path of a temporary file or folder as long as the object lives, so that
// remove_temporary_paths() finds it. Thread-safe. Neither makes nor removes the file itself: its
// user makes it, so a signal that comes in between, or right after, leaves nothing behind.
class TemporaryPath {
 public:
  // A new path in `folder`: `prefix` and 64 random bits.
  TemporaryPath(const std::filesystem::path& folder, std::string_view prefix);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  const std::filesystem::path& path() const { return path_; }  // absolute

 private:
  friend void remove_temporary_paths() noexcept;

  // Entries are reused but never destroyed: a signal handler may be reading the list.
  struct Entry {
    enum class State { free, written, used, removed };
    std::atomic<State> state{State::free};
    std::string path;  // written in state `written` only
    Entry* next = nullptr;
  };
  static std::atomic<Entry*> entries;

  const std::filesystem::path path_;
  Entry* entry_;
};

// Removes every remembered file, and every remembered folder with the files in it (not folders
// within). For a process that is about to end: async-signal-safe, so that a signal handler may call
// it while other threads still make files there.
void remove_temporary_paths() noexcept;

}  // namespace troupe
