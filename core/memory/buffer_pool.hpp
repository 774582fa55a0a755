// Pools of buffers for tensors, by size.
#pragma once

#include "core/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

// What else is done with the memory of buffers: `pin` when it has come from the kernel, `unpin`
// before it is returned. `pin` may throw a run Error.
struct Pinning {
  std::function<void(std::byte* start, std::uint64_t bytes)> pin = {};
  std::function<void(std::byte* start)> unpin = {};
};

// Allocates buffers from the kernel and keeps released ones for reuse. Every page of a buffer is
// touched before take() returns the buffer. Memory is returned to the kernel when the pool is
// destroyed, when the host runs short, or, that of buffers of a capacity that hasn't been used for
// long, when all would come to take more than twice what was ever in use at once, and 64 MiB: else
// tensors of ever other shapes would add up. Before that, where memory isn't pinned, one of 256 KiB
// or more becomes a buffer of the capacity that is needed, if the two are near: most of its pages
// stay. Buffers of less than a page stay. Capacities are those of buffer_capacity().
//
// Thread-safe.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  // `usable_bytes` returns how many bytes of the host's memory new buffers may take now.
  explicit BufferPool(std::function<std::uint64_t()> usable_bytes = usable_host_bytes,
                      Pinning pinning = {});
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  struct Need {
    std::uint64_t capacity = 0;
    std::uint64_t count = 0;  // free buffers of this capacity that there should be
  };
  // Allocates and touches missing buffers, in the order given, as far as the host's available
  // memory minus host_reserve() allows. If memory is short, first returns free buffers that aren't
  // needed to the kernel. Throws a run Error if there is no memory for even one buffer of each
  // needed size. Blocks (about 0.3 s a GiB). Calls `keep_going` every 32 MiB, and stops early if it
  // returns false.
  void reserve(std::span<const Need> needs, const std::function<bool()>& keep_going = {});

  // Returns a free buffer of exactly this capacity. If there is none, blocks and allocates one;
  // throws a run Error if the host has too little memory.
  std::byte* take(std::uint64_t capacity);
  // Releases a buffer. `buffer` must come from take(capacity).
  void give(std::uint64_t capacity, std::byte* buffer) noexcept;
  // Appends up to `count_max` free buffers to `buffers`: none if none is free.
  void take_some(std::uint64_t capacity, std::size_t count_max, std::vector<std::byte*>& buffers);
  void give_some(std::uint64_t capacity, std::span<std::byte* const> buffers) noexcept;

  // Of memory that the kernel has given and not got back.
  std::uint64_t bytes_mapped() const;
  bool is_pinned() const { return static_cast<bool>(pinning_.pin); }
  std::uint64_t free_count(std::uint64_t capacity) const;

  // The part of the host's available memory that is left to the rest of this process and to others.
  static std::uint64_t host_reserve(std::uint64_t available_bytes);
  // The bytes that buffers may allocate now. Throws a run Error if the host's available memory
  // can't be read.
  static std::uint64_t usable_host_bytes();
  // The run Error where the host gives no memory for so many bytes.
  static Error not_mapped(std::uint64_t needed_bytes, std::uint64_t available_bytes);

 private:
  // A buffer of at least this size has a mapping of its own. Smaller buffers share mappings,
  // because Linux allows a process only 65,530 of them: the kernel gets back their pages, and their
  // addresses stay. Pinning takes long for each mapping.
  static constexpr std::uint64_t own_mapping_bytes = 256 << 10;
  static constexpr std::uint64_t own_pinned_bytes = 1 << 20;
  bool has_own_mapping(std::uint64_t capacity) const {
    return capacity >= (is_pinned() ? own_pinned_bytes : own_mapping_bytes);
  }
  static constexpr bool has_pages(std::uint64_t capacity) { return capacity >= page_bytes; }
  static constexpr std::uint64_t small_mapping_bytes = 64 << 10;  // at least, for less than a page
  // A capacity that wasn't needed in so many growths is unused for long: what goes round in fewer
  // buffers than these finds them again.
  static constexpr std::uint64_t growths_for_long = 32;

  struct Bin {
    std::vector<std::byte*> free;  // has capacity for `made` buffers, so that give() can't fail
    std::vector<std::byte*> without_pages = {};  // their addresses only
    std::uint64_t made = 0;                      // buffers: free, in use or without pages
    std::uint64_t used_at = 0;  // growths_ when one was needed last; of those with pages
  };

  std::uint64_t room_for(std::uint64_t bytes);
  std::uint64_t read_room();
  void use_room(std::uint64_t bytes) { room_ -= std::min(room_, bytes); }
  std::uint64_t excess_with(std::uint64_t bytes) const;
  std::uint64_t next_growth(std::uint64_t capacity) const;
  bool grow(std::uint64_t capacity, std::uint64_t count, const std::function<bool()>& keep_going);
  void add(std::byte* start, std::uint64_t capacity, std::uint64_t count);
  std::uint64_t unused_capacity(std::uint64_t near) const;
  bool resize_unused(std::uint64_t capacity);
  std::uint64_t populate_again(std::uint64_t capacity, std::uint64_t count);
  bool trim(std::uint64_t bytes, std::span<const Need> keep, std::uint64_t unused = 0);
  void make_way(std::uint64_t bytes);
  void note_needs(std::span<const Need> needs);
  void count_taken(Bin& bin, std::uint64_t bytes);
  void pin(std::byte* start, std::uint64_t bytes, std::uint64_t part_bytes);
  void unmap(std::byte* start, std::uint64_t bytes);

  const std::function<std::uint64_t()> usable_bytes_;
  const Pinning pinning_;
  std::mutex growing_;  // held while allocating, so that two threads don't count on the same memory
  // What usable_bytes_ returned at a time, less what was allocated since. Guarded by growing_.
  std::uint64_t room_ = 0;
  std::chrono::steady_clock::time_point room_read_{};
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Bin> bins_;
  std::unordered_map<std::byte*, std::uint64_t> mappings_;  // bytes by start
  std::uint64_t bytes_mapped_ = 0;
  // Of buffers of a page and more.
  std::uint64_t mapped_ = 0;
  std::uint64_t in_use_ = 0;
  std::uint64_t peak_ = 0;     // the most that was in use
  std::uint64_t growths_ = 0;  // how often some were allocated
};

// Small free buffers of one thread: the thread mostly needs no lock, and reuses the buffers that
// are still in its processor's cache. The pool must outlive the cache. Call from one thread only.
class BufferCache {
 public:
  explicit BufferCache(BufferPool& pool) : pool_(&pool) {}
  ~BufferCache() { flush(); }
  BufferCache(BufferCache&& other) noexcept
      : pool_(other.pool_), bins_(std::exchange(other.bins_, {})) {}
  BufferCache& operator=(BufferCache&&) = delete;

  // Like BufferPool::take() and give().
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
  // Gives all buffers to the pool.
  void flush();
  bool is_of(const BufferPool& pool) const { return pool_ == &pool; }

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
  std::vector<Bin> bins_;  // the bin used last is the first
};

}  // namespace troupe
