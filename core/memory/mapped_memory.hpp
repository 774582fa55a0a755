// Memory from the kernel: large blocks of pages, with huge pages where it has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

// Anonymous memory, of which nothing has been touched; nullptr: the kernel has none. Munmap returns
// it. Blocks of at least a huge page begin at a multiple of it and ask the kernel for huge pages: a
// 144 MB matrix then causes 70 page faults instead of 35,000, and kernels miss the TLB less.
std::byte* map_memory(std::uint64_t bytes);

// Touches each page, so that page faults happen now and not while an op is timed.
void touch_memory(std::span<std::byte> memory);

// Makes a touched block of whole pages as large as this, maybe elsewhere, and touches what is new.
// nullptr: the kernel doesn't do that, and the block is as it was.
std::byte* resize_memory(std::byte* start, std::uint64_t bytes, std::uint64_t new_bytes);

}  // namespace troupe
