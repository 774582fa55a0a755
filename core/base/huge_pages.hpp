// Huge pages for large blocks of memory: fewer page faults when the block is first touched, and
// fewer TLB misses when it is read in random order.
#pragma once

#include <cstddef>
#include <span>

namespace troupe {

constexpr std::size_t huge_page_bytes = std::size_t{1} << 21;

// Gives the kernel this advice, of those of madvise(), on the pages of `page_bytes` that lie wholly
// within `memory`. False if it refuses.
bool advise(std::span<const std::byte> memory, std::size_t page_bytes, int advice);

// Asks for huge pages for `memory`, of which nothing should have been touched yet. A system that
// has none leaves things as they are.
void use_huge_pages(std::span<const std::byte> memory);

}  // namespace troupe
