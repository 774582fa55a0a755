// How a kernel that OpenBLAS computes is cut into panels, which a team computes in parallel.
//
// OpenBLAS rounds differently in a block of another shape, and results must not depend on the
// device (decision 4). So the cut depends on the shape and on the widest team of the machine, and
// not on the team that computes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace troupe {

// `length` rows or columns in panels of the same extent, a multiple of 8; the last may be shorter.
// There are fewer than `wanted` if fewer suffice because the extent is rounded up.
struct Panels {
  std::int64_t length = 0;
  std::int64_t count = 1;
  std::int64_t extent = 0;

  Panels(std::int64_t whole, std::int64_t wanted);
  std::int64_t begin(std::int64_t panel) const { return panel * extent; }
  std::int64_t end(std::int64_t panel) const { return std::min(begin(panel + 1), length); }
};

struct Grid {
  Panels rows;
  Panels columns;

  std::int64_t count() const { return rows.count * columns.count; }
};

// What can be cut: a result of so many rows and columns, whose elements are sums of as many terms.
struct Cuttable {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  double multiply_adds = 0;
  std::int64_t batch = 1;  // so many results, each of which is cut in the same way
};

// The grid for a team of so many threads: see panels.cpp. Takes some microseconds for 128.
Grid cut(const Cuttable& whole, std::int64_t widest_team);

}  // namespace troupe
