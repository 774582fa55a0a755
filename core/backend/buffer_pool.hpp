// Buffers for tensors, kept for reuse by size.
#pragma once

#include "core/base/buffer_capacity.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

// Buffers come from the kernel, are written once to every page before they are handed out, and go
// back to it only with the pool or where room is short. Capacities are those of buffer_capacity().
//
// All functions may be called from any thread.
class BufferPool {
 public:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t capacity_for(std::uint64_t bytes) {
    return buffer_capacity(bytes);
  }

  // `usable_bytes` tells how many bytes of the host's memory new buffers may take now.
  explicit BufferPool(std::function<std::uint64_t()> usable_bytes = usable_host_bytes);
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
  // The same for several: up to `count_max` free buffers, of which there may be none, into
  // `buffers`.
  void take_some(std::uint64_t capacity, std::size_t count_max, std::vector<std::byte*>& buffers);
  void give_some(std::uint64_t capacity, std::span<std::byte* const> buffers) noexcept;

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
  static constexpr std::uint64_t small_mapping_bytes = 64 << 10;  // at least, for less than a page

  struct Bin {
    std::vector<std::byte*> free;
    std::uint64_t made = 0;  // room in `free` for all of them, so that give() can't fail
  };

  bool grow(std::uint64_t capacity, std::uint64_t count, const std::function<bool()>& keep_going);
  bool trim(std::uint64_t bytes, std::span<const Need> keep);

  const std::function<std::uint64_t()> usable_bytes_;
  std::mutex growing_;  // one caller makes buffers at a time: each looks at what the host has left
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Bin> bins_;
  std::unordered_map<std::byte*, std::uint64_t> mappings_;  // bytes by start
  std::uint64_t bytes_mapped_ = 0;
};

// Small free buffers at one thread's hand, so that it mostly needs no lock, and finds in its cache
// what it freed last. The pool must outlive it.
class BufferCache {
 public:
  explicit BufferCache(BufferPool& pool) : pool_(&pool) {}
  ~BufferCache();
  BufferCache(BufferCache&& other) noexcept
      : pool_(other.pool_), bins_(std::exchange(other.bins_, {})) {}
  BufferCache& operator=(BufferCache&&) = delete;

  // As BufferPool's.
  std::byte* take(std::uint64_t capacity) {
    if (!is_first(capacity) || bins_.front().free.empty()) return find(capacity);
    std::byte* const buffer = bins_.front().free.back();
    bins_.front().free.pop_back();
    return buffer;
  }
  void give(std::uint64_t capacity, std::byte* buffer) {
    if (!is_first(capacity) || bins_.front().free.size() >= buffers_max)
      return keep(capacity, buffer);
    bins_.front().free.push_back(buffer);
  }

 private:
  static constexpr std::uint64_t capacity_max = 32 << 10;
  static constexpr std::size_t refill_count = 64;
  static constexpr std::size_t buffers_max = 2 * refill_count;  // of one capacity

  struct Bin {
    std::uint64_t capacity;
    std::vector<std::byte*> free;
  };
  bool is_first(std::uint64_t capacity) const {
    return !bins_.empty() && bins_.front().capacity == capacity;
  }
  Bin& bin(std::uint64_t capacity);
  std::byte* find(std::uint64_t capacity);
  void keep(std::uint64_t capacity, std::byte* buffer);

  BufferPool* pool_;
  std::vector<Bin> bins_;  // the one used last in front
};

}  // namespace troupe
