// Arenas that are used again.
#pragma once

#include "core/base/big_vector.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

// malloc returns a large block to the kernel when it is freed, and fetches it again page by page
// for the next array of this size. Arrays that come and go all the time use the block itself again.
//
// Made by std::make_shared. Thread-safe.
class ArenaPool : public std::enable_shared_from_this<ArenaPool> {
 public:
  ArenaPool() { free_.reserve(arenas_max); }  // keep() must not throw

  // An arena whose first block has at least `bytes`. When its last owner drops it, on any thread,
  // it is kept for the next call, unless it is large: what has huge pages is quick to fill anyway.
  std::shared_ptr<Arena> take(std::size_t bytes) {
    std::unique_ptr<Arena> arena;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        arena = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (arena == nullptr) arena = std::make_unique<Arena>();
    arena->reset(bytes);
    return {arena.release(), [pool = shared_from_this()](Arena* dropped) { pool->keep(dropped); }};
  }

 private:
  static constexpr std::size_t arenas_max = 8;
  static constexpr std::size_t bytes_max = BigAllocator<std::byte>::huge_pages_min_bytes;

  void keep(Arena* dropped) noexcept {
    std::unique_ptr<Arena> arena(dropped);
    if (arena->bytes() >= bytes_max) return;
    const std::lock_guard lock(mutex_);
    if (free_.size() < arenas_max) free_.push_back(std::move(arena));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Arena>> free_;
};

}  // namespace troupe
