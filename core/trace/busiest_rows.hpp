// Which rows a table or a chart shows that has no room for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

// How long a row is busy, and whether it is a device's; else it is a link's.
struct RowLoad {
  std::uint64_t busy = 0;
  bool is_device = false;
};

// The indices of at most `room` rows that are busy, in ascending order: the busiest ones, but of
// devices and of links each at least as many as half of the room takes.
std::vector<std::uint32_t> busiest_rows(const std::vector<RowLoad>& rows, std::size_t room);

}  // namespace troupe
