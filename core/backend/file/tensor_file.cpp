#include "core/backend/file/tensor_file.hpp"

#include "core/base/error.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::uint64_t alignment = 4096;  // at least a logical block of any disk
constexpr std::uint64_t request_bytes = 8 << 20;

constexpr std::uint64_t round_up(std::uint64_t n) {
  return (n + alignment - 1) / alignment * alignment;
}

bool can_be_direct(const FilePart& part, const std::byte* tensor) {
  return part.size >= alignment && reinterpret_cast<std::uintptr_t>(tensor) % alignment == 0 &&
         part.offset % alignment == 0 &&
         (part.bytes % alignment == 0 || (part.ends_tensor() && part.is_padded));
}

// What file systems without direct I/O answer, at open or at the first request.
bool refuses_direct(int error) {
  return error == EINVAL || error == EOPNOTSUPP;
}

const char* remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or name another directory";
    case EFBIG:
      return "raise the file size limit (ulimit -f), or make the tensor smaller";
    case ENOENT:
    case ENOTDIR:
      return "was the directory removed during the run?";
    case EACCES:
    case EPERM:
    case EROFS:
      return "name a directory that you may write to";
    default:
      return "check the directory and its disk";
  }
}

Error failure(const char* what, const std::filesystem::path& file, const FilePart& part,
              int error) {
  return run_error(fmt::format("{} {} of a tensor of {} in directory '{}' failed: {}", what,
                               format_bytes(part.bytes), format_bytes(part.size),
                               file.parent_path().string(), system_message(error)),
                   remedy(error));
}

// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

class OpenFile {
 public:
  OpenFile(const char* what, const std::filesystem::path& path, int flags, const FilePart& part,
           const std::byte* tensor)
      : what_(what), path_(path), part_(part) {
    const auto open_with = [&](int more) {
      return uninterrupted([&] { return ::open(path.c_str(), flags | more | O_CLOEXEC, 0600); });
    };
    if (can_be_direct(part, tensor)) {
      fd_ = open_with(O_DIRECT);
      direct_ = fd_ >= 0;
      if (fd_ < 0 && !refuses_direct(errno)) throw error();
    }
    if (fd_ < 0) fd_ = open_with(0);
    if (fd_ < 0) throw error();
  }
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int fd() const { return fd_; }
  bool direct() const { return direct_; }
  Error error() const { return failure(what_, path_, part_, errno); }

  void go_buffered() {
    const int flags = fcntl(fd_, F_GETFL);
    if (flags < 0 || fcntl(fd_, F_SETFL, flags & ~O_DIRECT) < 0) throw error();
    direct_ = false;
  }
  // Some file systems report failed writes only here.
  void close() {
    if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) throw error();
  }

 private:
  const char* what_;
  const std::filesystem::path& path_;
  const FilePart& part_;
  int fd_ = -1;
  bool direct_ = false;
};

// Moves bytes [part.offset, part end) by `move(offset, bytes)`, which answers as pwrite and pread
// do. Direct requests are whole blocks, the last one up to the next block's start. Where one came
// back short within a block, what remains isn't aligned and goes through the page cache.
template <class Move>
void move_part(OpenFile& file, const FilePart& part, Move move) {
  const std::uint64_t end = part.offset + part.bytes;
  std::uint64_t at = part.offset;
  while (at < end) {
    if (file.direct() && at % alignment != 0) file.go_buffered();
    const std::uint64_t left = file.direct() ? round_up(end) - at : end - at;
    const std::uint64_t request = std::min(left, request_bytes);
    const ssize_t moved = uninterrupted([&] { return move(at, request); });
    if (moved < 0 && file.direct() && refuses_direct(errno)) {
      file.go_buffered();
      continue;
    }
    if (moved < 0) throw file.error();
    if (moved == 0) {
      errno = EIO;  // a read past the end of a file that has lost a part
      throw file.error();
    }
    at += static_cast<std::uint64_t>(moved);
  }
}

}  // namespace

void write_part(const std::filesystem::path& path, const FilePart& part, const std::byte* tensor) {
  const int make = part.first ? O_CREAT | O_TRUNC : 0;
  OpenFile file("writing", path, O_WRONLY | make, part, tensor);
  move_part(file, part, [&](std::uint64_t at, std::uint64_t bytes) {
    return pwrite(file.fd(), tensor + at, bytes, static_cast<off_t>(at));
  });
  // A direct write of the tensor's end has filled its last block.
  if (part.ends_tensor() && part.size % alignment != 0 &&
      uninterrupted([&] { return ftruncate(file.fd(), static_cast<off_t>(part.size)); }) < 0) {
    throw file.error();
  }
  if (part.last && !file.direct() && uninterrupted([&] { return fdatasync(file.fd()); }) < 0) {
    throw file.error();
  }
  file.close();
}

void read_part(const std::filesystem::path& path, const FilePart& part, std::byte* tensor) {
  OpenFile file("reading", path, O_RDONLY, part, tensor);
  move_part(file, part, [&](std::uint64_t at, std::uint64_t bytes) {
    return pread(file.fd(), tensor + at, bytes, static_cast<off_t>(at));
  });
}

void ignore_file_size_signal() {
  struct sigaction action {};
  if (sigaction(SIGXFSZ, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return;
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace troupe
