#include "core/base/temporary_path.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/error.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <random>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

void remove_files_in(const char* folder) noexcept {
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  // opendir() allocates, which a signal handler must not; getdents64() is a bare system call.
  alignas(dirent64) std::byte entries[4096];
  for (ssize_t bytes; (bytes = getdents64(fd, entries, sizeof entries)) > 0;) {
    for (ssize_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      unlinkat(fd, entry->d_name, 0);  // fails for "." and ".."
      at += entry->d_reclen;
    }
  }
  close(fd);
}

void remove_path(const char* path) noexcept {
  if (unlink(path) == 0 || (errno != EISDIR && errno != EPERM)) return;
  // Other threads may make files meanwhile, until the folder is gone.
  for (int attempts = 1000; attempts > 0; --attempts) {
    remove_files_in(path);
    if (rmdir(path) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
  }
}

std::string random_name(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", prefix, random(), random());
}

}  // namespace

std::filesystem::path temporary_directory() {
  std::error_code error;
  std::filesystem::path directory = std::filesystem::temp_directory_path(error);
  if (!error) return directory;
  std::string problem = "there is no temporary directory '/tmp'";
  for (const char* name : {"TEMPDIR", "TEMP", "TMP", "TMPDIR"}) {  // the last one wins
    if (const char* value = std::getenv(name)) {
      problem = *value == '\0' ? fmt::format("{} is set, but empty", name)
                               : fmt::format("{} names no directory: '{}'", name, value);
    }
  }
  throw usage_error(problem, "set TMPDIR to a directory that exists and that you may write to");
}

std::atomic<TemporaryPath::Entry*> TemporaryPath::entries = nullptr;

TemporaryPath::TemporaryPath(const std::filesystem::path& folder, std::string_view prefix)
    : path_(absolute_path(folder / random_name(prefix))), entry_(entries.load()) {
  for (; entry_ != nullptr; entry_ = entry_->next) {
    Entry::State free = Entry::State::free;
    if (entry_->state.compare_exchange_strong(free, Entry::State::written)) break;
  }
  if (entry_ == nullptr) {
    entry_ = std::make_unique<Entry>().release();
    entry_->state = Entry::State::written;
    entry_->next = entries.load();
    while (!entries.compare_exchange_weak(entry_->next, entry_)) {
    }
  }
  entry_->path = path_.string();
  entry_->state = Entry::State::used;
}

TemporaryPath::~TemporaryPath() {
  // Where a signal handler has taken the entry, the handler still reads its path.
  Entry::State used = Entry::State::used;
  entry_->state.compare_exchange_strong(used, Entry::State::free);
}

void remove_temporary_paths() noexcept {
  for (TemporaryPath::Entry* entry = TemporaryPath::entries; entry != nullptr;
       entry = entry->next) {
    auto used = TemporaryPath::Entry::State::used;
    if (entry->state.compare_exchange_strong(used, TemporaryPath::Entry::State::removed)) {
      remove_path(entry->path.c_str());
    }
  }
}

}  // namespace troupe
