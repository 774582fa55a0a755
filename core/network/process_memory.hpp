// Memory of a process that other processes of the same host read where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace troupe {

// Lets others read the memory of this process, if they are of the same user. Where only debuggers
// may do that (Yama), it allows the parent of this process, and all that descend from it, to trace
// this process for as long as it runs.
class ReadableMemory {
 public:
  ReadableMemory();
  ReadableMemory(const ReadableMemory&) = delete;
  ReadableMemory& operator=(const ReadableMemory&) = delete;

  // What another process needs: printable, without spaces or colons. It is of use while this object
  // lives.
  std::string place() const;

 private:
  const std::uint64_t proof_;  // a random number: whoever reads it here has the right process
};

// The memory of another process, or of this one.
class ProcessMemory {
 public:
  // `place`: what ReadableMemory::place() says there. Null if that memory can't be read from here.
  static std::shared_ptr<const ProcessMemory> open(std::string_view place);
  ~ProcessMemory();
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;

  // Copies out.size() bytes from `address` in that process to `out`. Returns why if it fails, else
  // an empty string. Blocks. After a failure, `out` may be partly written.
  std::string read(std::uint64_t address, std::span<std::byte> out) const;

 private:
  ProcessMemory(pid_t process, int life) : process_(process), life_(life) {}

  const pid_t process_;
  const int life_;  // a descriptor that becomes readable when the process ends
};

}  // namespace troupe
