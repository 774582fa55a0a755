#include "core/files/output_file.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace fs = std::filesystem;
namespace {

constexpr int links_max = 40;  // as Linux follows

// Follows symbolic links until `path` is not a link, or names a descriptor of this process:
// /dev/stdout is a link to /proc/self/fd/1.
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

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// Returns an errno, or 0.
int sync_folder(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

// "/proc/self/fd/7", by which a file without a name can be linked. Needs /proc to be mounted.
std::string name_of_descriptor(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

}  // namespace

fs::path output_target(const fs::path& path) {
  std::error_code ignored;  // a path that can't be resolved is compared as it was given
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
  if (status.type() == fs::file_type::none) throw refuse(error.message());  // a cycle of links
  if (fs::is_directory(status)) throw refuse("it is a directory");
  if (fs::is_block_file(status)) throw refuse("it is a disk");

  const Target target = follow(path_);
  int fd = -1;
  if (target.descriptor) {
    fd = fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
      close(fd);
      throw refuse(system_message(EBADF));
    }
  } else if (fs::is_other(status)) {
    fd = open(path_.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  } else {
    if (fs::exists(status) && access(path_.c_str(), W_OK) != 0) throw refuse(system_message(errno));
    target_ = target.path;
    fd = open_beside();
  }
  if (fd < 0) throw refuse(system_message(errno));
  stream_.emplace(fd, true);
}

OutputFile::~OutputFile() {
  if (temporary_) unlink(temporary_->path().c_str());
}

int OutputFile::open_beside() {
  const fs::path folder = folder_of(target_);
  int fd = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd >= 0 && access(name_of_descriptor(fd).c_str(), F_OK) != 0) close(std::exchange(fd, -1));
  if (fd < 0) {
    choose_name();
    fd = open(temporary_->path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return fd;
  }
  struct stat old {};
  if (stat(target_.c_str(), &old) == 0) {
    // Only root may change the owner. For others, the file belongs to whoever runs the program.
    [[maybe_unused]] const int ignored = fchown(fd, old.st_uid, old.st_gid);
    fchmod(fd, old.st_mode & 0777);
  }
  return fd;
}

void OutputFile::choose_name() {
  temporary_.emplace(target_.parent_path(), fmt::format(".troupe-{}-", getpid()));
}

void OutputFile::commit(bool is_durable) {
  DescriptorBuffer& buffer = stream_->buffer();
  stream_->flush();
  const auto check = [this](int error) {
    if (error == 0) return;
    throw run_error(fmt::format("could not write all of '{}': {}", path_, system_message(error)),
                    "free some space or choose another path");
  };
  check(buffer.error());
  if (is_durable) check(fsync(buffer.fd()) == 0 ? 0 : errno);
  if (!target_.empty() && !temporary_) {
    choose_name();
    const std::string unnamed = name_of_descriptor(buffer.fd());
    const int linked =
        linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, temporary_->path().c_str(), AT_SYMLINK_FOLLOW);
    check(linked == 0 ? 0 : errno);
  }
  buffer.close();
  check(buffer.error());
  if (!temporary_) return;
  if (rename(temporary_->path().c_str(), target_.c_str()) != 0) {
    throw run_error(fmt::format("could not put '{}' in place: {}", path_, system_message(errno)),
                    "choose another path");
  }
  temporary_.reset();
  if (is_durable) check(sync_folder(folder_of(target_)));
}

}  // namespace troupe
