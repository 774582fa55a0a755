// Tiled Cholesky factorization: A = L Lᵀ for a symmetric positive definite matrix of 8 × 8 tiles.
// The loops are those of a textbook for one processor. Each call waits only for the tiles that it
// reads, so tiles are computed in parallel on all streams of the device.
#include "troupe/troupe.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

namespace {

constexpr std::size_t tiles = 8;
constexpr std::size_t extent = 32;  // rows and columns of a tile

// Small beside the diagonal, so that the matrix is positive definite.
double element(std::size_t row, std::size_t column) {
  const double distance = std::abs(static_cast<double>(row) - static_cast<double>(column));
  return row == column ? 8.0 : 1.0 / (1.0 + distance);
}

using Tiles = std::vector<std::vector<Tensor>>;  // the lower triangle: row by row

Tiles make_matrix(Session& session) {
  Tiles a(tiles);
  std::vector<double> values(extent * extent);
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = element(i * extent + k / extent, j * extent + k % extent);
      }
      a[i].push_back(session.tensor(values, {extent, extent}));
    }
  }
  return a;
}

// Replaces the tiles of A by those of L.
void factorize(Session& session, Tiles& a) {
  for (std::size_t k = 0; k < tiles; ++k) {
    a[k][k] = session.call("potrf", {a[k][k]});
    for (std::size_t i = k + 1; i < tiles; ++i) {
      a[i][k] = session.call("trsm", {a[k][k], a[i][k]}, {{"side", "right"}, {"transpose", true}});
    }
    for (std::size_t i = k + 1; i < tiles; ++i) {
      a[i][i] = session.call("syrk", {a[i][k], a[i][i]}, {{"alpha", -1.0}});
      for (std::size_t j = k + 1; j < i; ++j) {
        a[i][j] = session.call("gemm", {a[i][k], a[j][k], a[i][j]},
                               {{"alpha", -1.0}, {"transpose_b", true}});
      }
    }
  }
}

// The largest difference of an element of L Lᵀ from that of A, in the lower triangle.
double largest_error(const Tiles& l) {
  constexpr std::size_t n = tiles * extent;
  std::vector<double> rows(n * n, 0.0);
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const std::vector<double> tile = l[i][j].read<double>();
      for (std::size_t k = 0; k < tile.size(); ++k) {
        rows[(i * extent + k / extent) * n + j * extent + k % extent] = tile[k];
      }
    }
  }
  double largest = 0;
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c <= r; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k <= c; ++k) sum += rows[r * n + k] * rows[c * n + k];
      largest = std::max(largest, std::abs(sum - element(r, c)));
    }
  }
  return largest;
}

}  // namespace

int main() {
  Machine machine = local_machine(discover_host(), {.cpu_devices = 1});
  machine.devices[0].streams = 2;
  Session session(machine);
  Tiles matrix = make_matrix(session);
  factorize(session, matrix);
  fmt::print("{} x {} tiles of {} x {}: L times its transpose {} A\n", tiles, tiles, extent, extent,
             largest_error(matrix) < 1e-12 ? "equals" : "DIFFERS FROM");
}
