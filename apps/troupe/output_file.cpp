#include "apps/troupe/output_file.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <charconv>
#include <functional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace fs = std::filesystem;
namespace {

std::string message(int error) {
  return std::generic_category().message(error);
}

constexpr int links_max = 40;  // as Linux follows

// Follows links until `path` is none, or names a descriptor of this process ("/proc/self/fd/1",
// where /dev/stdout leads).
struct Target {
  fs::path path;
  std::optional<int> descriptor = {};
};
Target follow(fs::path path) {
  std::error_code error;
  for (int links = 0; links < links_max; ++links) {
    if (!fs::is_symlink(fs::symlink_status(path, error))) break;
    if (fs::equivalent(path.parent_path(), "/proc/self/fd", error)) {
      const std::string name = path.filename().string();
      int fd = -1;
      std::from_chars(name.data(), name.data() + name.size(), fd);
      if (fd >= 0) return {.path = std::move(path), .descriptor = fd};
    }
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return {.path = std::move(path)};
}

// "/proc/self/fd/7": a name for what has none, in a file system that must be mounted.
std::string name_of_descriptor(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

// Calls `make` with names beside `target` until one wasn't taken; its result, or -1 with errno.
int with_unused_name(const fs::path& target, fs::path& name,
                     const std::function<int(const char*)>& make) {
  for (int n = 0;; ++n) {
    name = target.parent_path() / fmt::format(".troupe-{}-{}", getpid(), n);
    const int result = make(name.c_str());
    if (result >= 0 || errno != EEXIST) return result;
  }
}

}  // namespace

fs::path output_target(const fs::path& path) {
  std::error_code ignored;  // what can't be looked at is compared as it was written
  const fs::path target = fs::absolute(follow(path).path, ignored);
  const fs::path folder = fs::weakly_canonical(target.parent_path(), ignored);
  return (folder.empty() ? target.parent_path() : folder).lexically_normal() / target.filename();
}

bool names_descriptor(const fs::path& path) {
  return follow(path).descriptor.has_value();
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  const auto refuse = [this](const std::string& why) {
    return usage_error(fmt::format("can't write '{}': {}", path_, why),
                       "give a path in a directory that exists and that you may write to");
  };
  if (path_.empty()) throw refuse("the path is empty");
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (status.type() == fs::file_type::none) throw refuse(error.message());  // links in a circle
  if (fs::is_directory(status)) throw refuse("it is a directory");
  if (fs::is_block_file(status)) throw refuse("it is a disk");

  const Target target = follow(path_);
  int fd = -1;
  if (target.descriptor) {
    fd = fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
      close(fd);
      throw refuse(message(EBADF));
    }
  } else if (fs::is_other(status)) {
    fd = open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  } else {
    if (fs::exists(status) && access(path_.c_str(), W_OK) != 0) throw refuse(message(errno));
    target_ = target.path;
    fd = open_beside();
  }
  if (fd < 0) throw refuse(message(errno));
  stream_.emplace(fd, true);
}

OutputFile::~OutputFile() {
  if (!name_.empty()) unlink(name_.c_str());
}

int OutputFile::open_beside() {
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : ".";
  int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0 && access(name_of_descriptor(fd).c_str(), F_OK) != 0) close(std::exchange(fd, -1));
  if (fd < 0) {
    fs::path name;
    fd = with_unused_name(target_, name, [](const char* unused) {
      return open(unused, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    });
    if (fd < 0) return fd;
    name_ = std::move(name);
    temporary_.emplace(name_);
  }
  struct stat old {};
  if (stat(target_.c_str(), &old) == 0) {
    // Only root may give a file away; for others the file then simply is theirs.
    [[maybe_unused]] const int ignored = fchown(fd, old.st_uid, old.st_gid);
    fchmod(fd, old.st_mode & 0777);
  }
  return fd;
}

void OutputFile::commit() {
  DescriptorBuffer& buffer = stream_->buffer();
  stream_->flush();
  const auto check = [this](int error) {
    if (error == 0) return;
    throw run_error(fmt::format("could not write all of '{}': {}", path_, message(error)),
                    "free some space or choose another path");
  };
  check(buffer.error());
  if (!target_.empty() && name_.empty()) {
    const std::string unnamed = name_of_descriptor(buffer.fd());
    fs::path name;
    const int linked = with_unused_name(target_, name, [&](const char* unused) {
      return linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, unused, AT_SYMLINK_FOLLOW);
    });
    if (linked != 0) check(errno);
    name_ = std::move(name);
    temporary_.emplace(name_);
  }
  buffer.close();
  check(buffer.error());
  if (name_.empty()) return;
  if (rename(name_.c_str(), target_.c_str()) != 0) {
    throw run_error(fmt::format("could not put '{}' in place: {}", path_, message(errno)),
                    "choose another path");
  }
  name_.clear();
  temporary_.reset();
}

}  // namespace troupe
