// Huge pages for large blocks of memory: fewer page faults when the block is first touched, and
// fewer TLB misses when it is read in random order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/mman.h>

namespace troupe {

constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;

// Gives the kernel this advice on the pages of `page_bytes` that lie wholly within `memory`. False
// if it refuses.
inline bool advise(std::span<const std::byte> memory, std::size_t page_bytes, int advice) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes;
  const std::uintptr_t last = (begin + memory.size()) / page_bytes * page_bytes;
  if (first >= last) return true;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of pages
  return madvise(reinterpret_cast<void*>(first), last - first, advice) == 0;
}

// Asks for huge pages for `memory`, of which nothing should have been touched yet. A system that
// has none leaves things as they are.
inline void use_huge_pages(std::span<const std::byte> memory) {
  advise(memory, huge_page_bytes, MADV_HUGEPAGE);
}

}  // namespace troupe
