#include "core/files/input_file.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr const char* check_disk = "check the file and its disk";

Error failure(const std::filesystem::path& path, const std::string& problem,
              const std::string& remedy) {
  return {ErrorKind::failed, {path.string()}, problem, remedy};
}

}  // namespace

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  const auto refuse = [this](const std::string& problem, const std::string& remedy) {
    return usage_error({path_.string()}, problem, remedy);
  };
  // Opening a pipe would wait for its writer.
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    if (error == ENOENT || error == ENOTDIR)
      throw refuse("there is no such file", "check the path");
    throw refuse(
        fmt::format("the file can't be read ({})", system_message(error)),
        error == EMFILE ? "raise the limit of open files (ulimit -n)" : "check its permissions");
  }
  if (!S_ISREG(status.st_mode)) {
    close(fd_);
    throw refuse(S_ISDIR(status.st_mode) ? "this is a directory" : "this is no regular file",
                 "name a file that holds tensors");
  }
  bytes_ = static_cast<std::uint64_t>(status.st_size);
  changed_ = status.st_mtim;
}

InputFile::~InputFile() {
  close(fd_);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  TROUPE_ASSERT(offset <= bytes_ && out.size() <= bytes_ - offset);
  struct stat now {};
  if (fstat(fd_, &now) != 0) throw failure(path_, system_message(errno), check_disk);
  if (static_cast<std::uint64_t>(now.st_size) != bytes_ || now.st_mtim.tv_sec != changed_.tv_sec ||
      now.st_mtim.tv_nsec != changed_.tv_nsec) {
    throw failure(path_, "the file was changed while it was in use",
                  "write a new file and rename it, or wait until the run has ended");
  }
  while (!out.empty()) {
    const ssize_t got = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw failure(path_, fmt::format("reading failed: {}", system_message(got < 0 ? errno : EIO)),
                    check_disk);
    }
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

FileMapping::FileMapping(const InputFile& file, std::uint64_t offset, std::uint64_t bytes) {
  TROUPE_ASSERT(offset <= file.bytes_ && bytes <= file.bytes_ - offset);
  if (bytes == 0) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t before = offset % page;
  length_ = bytes + before;
  void* const start =
      mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, file.fd_, static_cast<off_t>(offset - before));
  if (start == MAP_FAILED) {
    throw failure(file.path_, fmt::format("the file can't be mapped: {}", system_message(errno)),
                  "raise the limit of address space (ulimit -v)");
  }
  start_ = start;
  bytes_ = {static_cast<const std::byte*>(start) + before, bytes};
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      length_(other.length_),
      bytes_(std::exchange(other.bytes_, {})) {}

FileMapping::~FileMapping() {
  if (start_ != nullptr) munmap(start_, length_);
}

}  // namespace troupe
