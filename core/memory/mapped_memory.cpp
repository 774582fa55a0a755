#include "core/memory/mapped_memory.hpp"

#include "core/base/huge_pages.hpp"
#include "core/base/prefault.hpp"

#include <sys/mman.h>

namespace troupe {
namespace {

constexpr std::uint64_t page_bytes = 4096;

std::byte* map_anywhere(std::uint64_t bytes) {
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return start == MAP_FAILED ? nullptr : static_cast<std::byte*>(start);
}

// For all of a block: one whose end has other pages would be two mappings.
void ask_for_huge_pages(std::byte* start, std::uint64_t bytes) {
  advise({start, bytes}, page_bytes, MADV_HUGEPAGE);
}

}  // namespace

std::byte* map_memory(std::uint64_t bytes) {
  if (bytes < huge_page_bytes) return map_anywhere(bytes);
  const std::uint64_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  std::byte* start = map_anywhere(whole + huge_page_bytes);
  if (start == nullptr) {  // the address space may end before the memory does
    start = map_anywhere(whole);
  } else {
    const std::uint64_t before = -reinterpret_cast<std::uintptr_t>(start) % huge_page_bytes;
    if (before > 0) munmap(start, before);
    start += before;
    munmap(start + whole, huge_page_bytes - before);
  }
  if (start != nullptr) ask_for_huge_pages(start, whole);
  return start;
}

void touch_memory(std::span<std::byte> memory) {
  if (populate(memory)) return;
  for (std::size_t i = 0; i < memory.size(); i += page_bytes) {
    *const_cast<volatile std::byte*>(memory.data() + i) = std::byte{0};
  }
}

std::byte* resize_memory(std::byte* start, std::uint64_t bytes, std::uint64_t new_bytes) {
  if (new_bytes <= bytes) {
    return munmap(start + new_bytes, bytes - new_bytes) == 0 ? start : nullptr;
  }
  std::byte* const to = map_memory(new_bytes);  // for its address, which a huge page may begin at
  if (to == nullptr) return nullptr;
  // The new pages belong to the mapping of the old ones. Side by side, the two would stay two.
  if (mremap(start, bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED) {
    munmap(to, new_bytes);
    return nullptr;
  }
  if (new_bytes >= huge_page_bytes) ask_for_huge_pages(to, new_bytes);
  touch_memory({to + bytes, new_bytes - bytes});
  return to;
}

}  // namespace troupe
