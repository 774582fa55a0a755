#include "core/base/huge_pages.hpp"

#include <cstdint>

#include <sys/mman.h>

namespace troupe {

bool advise(std::span<const std::byte> memory, std::size_t page_bytes, int advice) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes;
  const std::uintptr_t last = (begin + memory.size()) / page_bytes * page_bytes;
  if (first >= last) return true;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of pages
  return madvise(reinterpret_cast<void*>(first), last - first, advice) == 0;
}

void use_huge_pages(std::span<const std::byte> memory) {
  advise(memory, huge_page_bytes, MADV_HUGEPAGE);
}

}  // namespace troupe
