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

// Lets others read the memory of this process, if they are of the same user, for as long as it
// runs. Where only debuggers may read it (Yama), those may that the parent of this process has
// started.
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

  // Copies what is at `address` there. Returns why it can't; empty if it has. Blocks.
  std::string read(std::uint64_t address, std::span<std::byte> out) const;

 private:
  ProcessMemory(pid_t process, int life) : process_(process), life_(life) {}

  const pid_t process_;
  const int life_;  // a descriptor that becomes readable when the process ends
};

}  // namespace troupe
