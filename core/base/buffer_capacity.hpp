// How much memory a tensor's buffer takes.
#pragma once

#include <cstdint>

namespace troupe {

// The size of a buffer for a tensor of `bytes`. Small buffers are whole cache lines, so that
// threads that write to neighbouring buffers don't share a line. Buffers from about a page on are
// whole pages, as direct I/O requires.
constexpr std::uint64_t buffer_capacity(std::uint64_t bytes) {
  constexpr std::uint64_t line = 64;
  constexpr std::uint64_t page = 4096;
  const std::uint64_t unit = bytes <= page - line ? line : page;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace troupe
