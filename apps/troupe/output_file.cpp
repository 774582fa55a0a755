#include "apps/troupe/output_file.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace fs = std::filesystem;

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  const auto refuse = [this](const std::string& why) {
    return usage_error(fmt::format("can't write '{}': {}", path_, why),
                       "give a path in a directory that exists and that you may write to");
  };
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (path_.empty()) throw refuse("the path is empty");
  if (status.type() == fs::file_type::none) throw refuse(error.message());  // links in a circle
  if (fs::is_directory(status)) throw refuse("it is a directory");
  // /dev/stdout may lead to a regular file that somebody else holds open.
  const bool is_special = (fs::exists(status) && !fs::is_regular_file(status)) ||
                          path_.starts_with("/dev/") || path_.starts_with("/proc/");
  if (fs::is_regular_file(status) && access(path_.c_str(), W_OK) != 0) {
    throw refuse(std::strerror(errno));
  }
  if (is_special) {
    is_standard_output_ = fs::equivalent(path_, "/dev/stdout", error);
    if (is_standard_output_) return;
    stream_.open(path_);
    if (!stream_) throw refuse(std::strerror(errno));
    return;
  }
  // A link stays a link: what it leads to is written, be it there already or not.
  fs::path target = path_;
  while (fs::is_symlink(fs::symlink_status(target, error))) {
    target = target.parent_path() / fs::read_symlink(target);
  }
  target_ = target.string();
  std::string name = target_ + ".XXXXXX";
  const int fd = mkstemp(name.data());
  if (fd < 0) throw refuse(std::strerror(errno));
  // mkstemp's file is private to its owner; a report is an ordinary file.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, 0666 & ~mask);
  close(fd);
  written_ = name;
  stream_.open(written_);
  if (!stream_) throw refuse(std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (!written_.empty()) unlink(written_.c_str());
}

std::ostream& OutputFile::stream() {
  return is_standard_output_ ? std::cout : stream_;
}

void OutputFile::commit() {
  errno = 0;
  if (is_standard_output_) {
    std::cout.flush();
  } else {
    stream_.close();
  }
  if (!stream()) {
    throw run_error(fmt::format("could not write all of '{}': {}", path_,
                                errno != 0 ? std::strerror(errno) : "the disk may be full"),
                    "free some space or choose another path");
  }
  if (written_.empty()) return;
  std::error_code error;
  fs::rename(written_, target_, error);
  if (error)
    throw run_error(fmt::format("could not put '{}' in place: {}", path_, error.message()));
  written_.clear();
}

}  // namespace troupe
