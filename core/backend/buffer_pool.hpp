// Page-aligned buffers for tensors, kept for reuse by size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace troupe {

// Buffers come from the kernel, are written once to every page before they are handed out, and go
// back to it only with the pool or where room is short. Capacities are multiples of page_bytes.
//
// All functions may be called from any thread.
class BufferPool {
 public:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t capacity_for(std::uint64_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
  }

  BufferPool() = default;
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  struct Need {
    std::uint64_t capacity = 0;
    std::uint64_t count = 0;  // buffers of it that should be free
  };
  // Makes and touches what is missing, in the order given, as far as the host's available memory
  // goes, less host_reserve. Unneeded free buffers are given up first where room is short. Throws a
  // run Error where not even one buffer of each needed size can be had. Blocks (about 0.3 s a GiB);
  // stops early where `keep_going`, which is asked every 32 MiB, says no.
  void reserve(std::span<const Need> needs, const std::function<bool()>& keep_going = {});

  // A free buffer of exactly this capacity. Where there is none, makes one, which blocks; throws a
  // run Error where the host has not enough memory.
  std::byte* take(std::uint64_t capacity);
  // `buffer` came from take(capacity). Never fails.
  void give(std::uint64_t capacity, std::byte* buffer) noexcept;

  std::uint64_t bytes_mapped() const;
  std::uint64_t free_count(std::uint64_t capacity) const;

  // Memory of the host that is left alone, so that the rest of the process and its neighbours live.
  static std::uint64_t host_reserve(std::uint64_t available_bytes);
  // What buffers can have of the host's memory now. Throws a run Error where that can't be read.
  static std::uint64_t usable_host_bytes();

 private:
  // Buffers of at least this size get a mapping each, and can be given up one by one; smaller ones
  // are cut from mappings for many, because Linux allows a process only 65,530 mappings.
  static constexpr std::uint64_t own_mapping_bytes = 1 << 20;

  struct Bin {
    std::vector<std::byte*> free;
    std::uint64_t made = 0;  // room in `free` for all of them, so that give() can't fail
  };

  bool grow(std::uint64_t capacity, std::uint64_t count, const std::function<bool()>& keep_going);
  bool trim(std::uint64_t bytes, std::span<const Need> keep);

  std::mutex growing_;  // one caller makes buffers at a time: each looks at what the host has left
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Bin> bins_;
  std::unordered_map<std::byte*, std::uint64_t> mappings_;  // bytes by start
  std::uint64_t bytes_mapped_ = 0;
};

}  // namespace troupe
