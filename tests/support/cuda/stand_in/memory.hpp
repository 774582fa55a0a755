// The memory of devices, and pinned memory of the host.
//
// Device memory is a range of addresses that nobody may touch, with a twin of the same size behind
// it where its bytes are: the host's first use of a device pointer ends the process, and works of
// the stand-in use the twin. The first MiB of new memory is full of 0xff, which are NaNs. Addresses
// are used again as late as possible, and behind each allocation is a zone that nobody may write.
#pragma once

#include "tests/support/cuda/stand_in/accesses.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::testing {

enum class MemoryKind : std::uint8_t { device, pinned, registered };

struct Allocation {
  MemoryKind kind = MemoryKind::device;
  int device = 0;  // pinned memory: the current device when it was allocated
  const std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;  // of all allocations
  AccessHistory accesses = {};

  std::string text() const;
};

// The addresses of one device.
class Arena {
 public:
  explicit Arena(std::size_t addresses);
  // Returns null if there is no room.
  const std::byte* allocate(std::size_t bytes);
  // Makes the addresses available again. Returns false if the zone behind them has been written.
  bool release(const std::byte* begin);
  bool holds(const std::byte* address) const {
    return address >= base_ && address < base_ + addresses_;
  }
  std::byte* twin(const std::byte* address) const {
    return const_cast<std::byte*>(address) + addresses_;
  }

 private:
  std::size_t addresses_;
  const std::byte* base_ = nullptr;
  struct Taken {
    std::size_t bytes = 0;  // of the allocation
    std::size_t size = 0;   // with the zone behind it
  };
  std::map<std::size_t, Taken> taken_;  // by offset
  std::size_t next_ = 0;                // where the next allocation is tried first
};

// Call with the engine's mutex held.
class Memory {
 public:
  explicit Memory(Control& control) : control_(control) {}

  // Returns null if the device has no room, or an injected failure is due.
  Allocation* allocate_device(int device, std::size_t bytes);
  Allocation* allocate_pinned(int device, std::size_t bytes);
  // Returns null if a part of the range is pinned or registered already.
  Allocation* register_host(int device, void* begin, std::size_t bytes);

  // What the libraries have for themselves, without an address. False if there is no room.
  bool take(int device, std::size_t bytes);
  void give_back(int device, std::size_t bytes) { used_[device] -= bytes; }

  // Makes every later use of the allocation a failure. `by` is what freed it.
  void forget(Allocation& allocation, const WorkId& by);
  // Makes forgotten memory available again. Its device must have finished what used it.
  void recycle(const std::byte* begin);

  // Returns null if no allocation holds the address.
  Allocation* find(const void* address);
  // Returns the allocation that holds the range; else reports what is wrong with it, in words that
  // begin with `what`, and returns null.
  Allocation* expect(const void* address, std::size_t bytes, std::string_view what);
  bool is_device(const void* address) const;
  // Where the bytes of this address are. Other addresses than those of devices mean themselves.
  std::byte* bytes_at(const void* address) const;

  std::size_t used(int device) const;
  std::size_t capacity() const { return static_cast<std::size_t>(control_.memory_mib) << 20U; }
  const std::map<const std::byte*, Allocation>& allocations() const { return live_; }

 private:
  struct Freed {
    std::size_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    std::string text;
  };
  Allocation* add(Allocation allocation);

  Control& control_;
  std::map<int, Arena> arenas_;
  std::map<int, std::size_t> used_;
  std::map<const std::byte*, Allocation> live_;
  std::map<const std::byte*, Freed> freed_;
  std::deque<const std::byte*> unusable_;  // freed pinned memory, so that its use ends the process
  std::uint64_t allocated_ = 0;
};

}  // namespace troupe::testing
