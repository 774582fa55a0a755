#include "core/files/input_file.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <future>
#include <thread>
#include <utility>
#include <vector>

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

std::chrono::nanoseconds since_1970(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

InputFile::Version version_of(const struct stat& status) {
  return {.device = status.st_dev,
          .number = status.st_ino,
          .bytes = static_cast<std::uint64_t>(status.st_size),
          .written = since_1970(status.st_mtim),
          .changed = since_1970(status.st_ctim)};
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
    throw refuse(fmt::format("the file can't be read ({})", system_message(error)),
                 error == EMFILE ? "raise the limit of open files (ulimit -n)"
                 : error == ELOOP || error == ENAMETOOLONG ? "check the path"
                                                           : "check its permissions");
  }
  if (!S_ISREG(status.st_mode)) {
    close(fd_);
    throw refuse(S_ISDIR(status.st_mode) ? "this is a directory" : "this is no regular file",
                 "name a file that holds tensors");
  }
  version_ = version_of(status);
}

InputFile::~InputFile() {
  close(fd_);
}

void InputFile::check_unchanged() const {
  struct stat now {};
  if (fstat(fd_, &now) != 0) throw failure(path_, system_message(errno), check_disk);
  // Its name may change meanwhile.
  const Version version = version_of(now);
  if (version.bytes == version_.bytes && version.written == version_.written) return;
  throw failure(path_, "the file was changed while it was in use",
                "write a new file and rename it, or wait until the run has ended");
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  TROUPE_ASSERT(offset <= version_.bytes && out.size() <= version_.bytes - offset);
  check_unchanged();
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

std::shared_ptr<const std::byte> InputFile::mapped() const {
  std::call_once(mapping_once_, [this] {
    if (version_.bytes == 0) return;
    void* const start = mmap(nullptr, version_.bytes, PROT_READ, MAP_PRIVATE, fd_, 0);
    if (start == MAP_FAILED) return;
    const auto unmap = [bytes = version_.bytes](const std::byte* first) {
      munmap(const_cast<std::byte*>(first), bytes);
    };
    mapping_ = {static_cast<const std::byte*>(start), unmap};
  });
  return mapping_;
}

void InputFile::load(std::uint64_t offset, std::uint64_t bytes) const {
  TROUPE_ASSERT(mapped() != nullptr && offset <= version_.bytes &&
                bytes <= version_.bytes - offset);
  check_unchanged();
  // The system takes about 50 ms for a GiB that it has in its cache.
  constexpr std::uint64_t bytes_per_thread = 64 << 20;
  const std::uint64_t threads = std::clamp<std::uint64_t>(
      bytes / bytes_per_thread, 1, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::future<void>> parts;
  for (std::uint64_t i = 1; i < threads; ++i) {
    const std::uint64_t begin = bytes * i / threads;
    const std::uint64_t end = bytes * (i + 1) / threads;
    parts.push_back(std::async([=, this] { load_part(offset + begin, end - begin); }));
  }
  load_part(offset, bytes / threads);
  for (std::future<void>& part : parts) part.get();
}

void InputFile::load_part(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t before = offset % static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  auto* const first = const_cast<std::byte*>(mapped().get()) + (offset - before);
  while (bytes > 0 && madvise(first, before + bytes, MADV_POPULATE_READ) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL) return;  // before Linux 5.14: pages are loaded when they are read
    // EFAULT: a page can't be read.
    const int error = errno == EFAULT ? EIO : errno;
    throw failure(path_, fmt::format("reading failed: {}", system_message(error)), check_disk);
  }
}

}  // namespace troupe
