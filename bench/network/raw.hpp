// What a Wire is compared with: a plain TCP connection whose readers spin, memcpy, and copies by
// the kernel.
#pragma once

#include "core/base/buffer_capacity.hpp"
#include "core/memory/buffer_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace network_bench {

std::int64_t now_ns();

// Memory through which messages rotate, larger than caches, and of the kind that tensors have.
class Pool {
 public:
  explicit Pool(std::size_t bytes)
      : bytes_(bytes), start_(buffers_.take(troupe::buffer_capacity(bytes))) {}
  std::byte* next(std::size_t bytes) {
    if (position_ + bytes > bytes_) position_ = 0;
    std::byte* const found = start_ + position_;
    position_ += bytes;
    return found;
  }

 private:
  troupe::BufferPool buffers_;  // the kernel copies from its huge pages twice as fast
  const std::size_t bytes_;
  std::byte* const start_;
  std::size_t position_ = 0;
};

struct Stream {
  std::size_t piece_bytes = 0;
  std::uint64_t pieces = 0;
  double bytes() const { return static_cast<double>(piece_bytes) * static_cast<double>(pieces); }
};

// Nanoseconds of each round trip of 64 bytes.
using RoundTrips = std::vector<std::int64_t>;

class RawTcp {
 public:
  // Waits for the other process, which connects to port().
  RawTcp();
  explicit RawTcp(int port);
  ~RawTcp();
  RawTcp(const RawTcp&) = delete;
  RawTcp& operator=(const RawTcp&) = delete;

  int port() const { return port_; }
  void accept_one();
  RoundTrips round_trips(std::size_t count);
  // Seconds until the other side has all.
  double stream(Stream stream, Pool& pool);
  // Does the other side's part until the connection is closed.
  void serve(Pool& pool);

 private:
  struct Command {
    std::uint64_t round_trips = 0;
    Stream stream;
  };
  void write_all(const void* data, std::size_t bytes) const;
  bool read_all(void* data, std::size_t bytes, bool spins) const;

  int listener_ = -1;
  int socket_ = -1;
  int port_ = 0;
};

// Seconds.
double copy(Stream stream, Pool& from, Pool& to);
// By the kernel, with process_vm_readv(): as it reads the memory of another process, but within
// this one.
double copy_by_kernel(Stream stream, Pool& from, Pool& to);

}  // namespace network_bench
