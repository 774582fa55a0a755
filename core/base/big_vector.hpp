// Vectors for millions of elements: huge pages, and an arena that holds many arrays.
#pragma once

#include "core/base/huge_pages.hpp"

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

class Arena;

// Asks for huge pages for arrays of at least huge_pages_min_bytes: fewer page faults when the array
// is filled, and fewer TLB misses when it is read in random order.
//
// With an arena, memory comes from the arena, and `deallocate` is a no-op: the memory is freed when
// the arena is destroyed or reset. Elements must not be used after that.
template <class T>
struct BigAllocator {
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  static constexpr std::size_t huge_pages_min_bytes = 2 * huge_page_bytes;

  BigAllocator() = default;
  explicit BigAllocator(Arena& from) : arena(&from) {}
  template <class U>
  BigAllocator(const BigAllocator<U>& other) : arena(other.arena) {}

  T* allocate(std::size_t n);
  void deallocate(T* memory, std::size_t n) noexcept;
  // The copy of a vector does not use the arena of its source.
  BigAllocator select_on_container_copy_construction() const { return {}; }
  friend bool operator==(const BigAllocator&, const BigAllocator&) = default;

  Arena* arena = nullptr;
};

template <class T>
using BigVector = std::vector<T, BigAllocator<T>>;

// The memory that `vector` has reserved and not filled yet.
template <class T>
std::span<const std::byte> unfilled(const BigVector<T>& vector) {
  return std::as_bytes(
      std::span<const T>(vector.data() + vector.size(), vector.capacity() - vector.size()));
}

// Memory for many arrays, side by side in few blocks. All of it is freed with the arena, or by
// reset(). Call from one thread only.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  static constexpr std::size_t alignment = 64;  // no two arrays share a cache line
  // The memory that an array of `bytes` takes.
  static constexpr std::size_t room_for(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  }
  // Allocates a new block of `bytes`, rounded up to whole cache lines. The next arrays come from
  // this block while they fit.
  void reserve(std::size_t bytes);
  // Ends all arrays. The next ones come from a block of at least `bytes`: the one that there is, if
  // it is large enough.
  void reset(std::size_t bytes);
  // Of all blocks.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Block& block : blocks_) sum += block.size * alignment;
    return sum;
  }
  void* allocate(std::size_t bytes);

 private:
  void free_blocks() noexcept;

  struct alignas(alignment) Line {
    std::byte bytes[alignment];
  };
  struct Block {
    Line* lines;
    std::size_t size;
  };
  std::vector<Block> blocks_;
  Line* next_ = nullptr;  // the first free line of the last block
  Line* end_ = nullptr;
};

// An empty vector in `arena` with room for `capacity` elements.
template <class T>
BigVector<T> vector_in(Arena& arena, std::size_t capacity) {
  static_assert(alignof(T) <= Arena::alignment && std::is_trivially_destructible_v<T>);
  BigVector<T> vector{BigAllocator<T>(arena)};
  vector.reserve(capacity);
  return vector;
}

template <class T>
T* BigAllocator<T>::allocate(std::size_t n) {
  const std::size_t bytes = n * sizeof(T);
  if (arena != nullptr) return static_cast<T*>(arena->allocate(bytes));
  if (bytes < huge_pages_min_bytes) return std::allocator<T>().allocate(n);
  void* const memory = std::aligned_alloc(
      huge_page_bytes, (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  use_huge_pages({static_cast<const std::byte*>(memory), bytes});
  return static_cast<T*>(memory);
}

template <class T>
void BigAllocator<T>::deallocate(T* memory, std::size_t n) noexcept {
  if (arena != nullptr) return;
  if (n * sizeof(T) < huge_pages_min_bytes) return std::allocator<T>().deallocate(memory, n);
  std::free(memory);
}

inline Arena::~Arena() {
  free_blocks();
}

inline void Arena::free_blocks() noexcept {
  for (const Block& block : blocks_) BigAllocator<Line>().deallocate(block.lines, block.size);
  blocks_.clear();
}

inline void Arena::reserve(std::size_t bytes) {
  const std::size_t size = room_for(bytes) / alignment;
  blocks_.reserve(blocks_.size() + 1);
  next_ = BigAllocator<Line>().allocate(size);
  end_ = next_ + size;
  blocks_.push_back({next_, size});
}

inline void Arena::reset(std::size_t bytes) {
  if (blocks_.size() == 1 && blocks_.front().size >= room_for(bytes) / alignment) {
    next_ = blocks_.front().lines;
    end_ = next_ + blocks_.front().size;
    return;
  }
  next_ = end_ = nullptr;
  free_blocks();
  reserve(bytes);
}

inline void* Arena::allocate(std::size_t bytes) {
  const auto lines = static_cast<std::ptrdiff_t>(room_for(bytes) / alignment);
  if (end_ - next_ < lines) reserve(bytes);
  return std::exchange(next_, next_ + lines);
}

}  // namespace troupe
