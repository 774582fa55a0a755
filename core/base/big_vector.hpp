// Vectors for what a big run has millions of.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace troupe {

// Asks for huge pages where an array takes several of them: fewer page faults when it is filled,
// and fewer misses of the translation cache when it is read here and there.
template <class T>
struct BigAllocator {
  using value_type = T;
  static constexpr std::size_t huge_page = std::size_t{1} << 21;
  static constexpr std::size_t big = 2 * huge_page;

  BigAllocator() = default;
  template <class U>
  BigAllocator(const BigAllocator<U>&) {}

  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes < big) return std::allocator<T>().allocate(n);
    void* const memory =
        std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page);
    if (memory == nullptr) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);  // a system without huge pages may refuse
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    if (n * sizeof(T) < big) return std::allocator<T>().deallocate(memory, n);
    std::free(memory);
  }
  friend bool operator==(const BigAllocator&, const BigAllocator&) { return true; }
};

template <class T>
using BigVector = std::vector<T, BigAllocator<T>>;

}  // namespace troupe
