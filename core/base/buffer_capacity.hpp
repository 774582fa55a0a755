// How much memory a tensor's buffer takes.
#pragma once

#include <cstdint>

namespace troupe {

// The bytes of a buffer for a tensor of `bytes`: whole cache lines, so that threads that write to
// neighbouring buffers don't share a line; from about a page on whole pages, which direct I/O
// needs.
constexpr std::uint64_t buffer_capacity(std::uint64_t bytes) {
  constexpr std::uint64_t line = 64;
  constexpr std::uint64_t page = 4096;
  const std::uint64_t unit = bytes <= page - line ? line : page;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace troupe
