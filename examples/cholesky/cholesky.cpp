// Tiled Cholesky factorisation: A = L Lᵀ for a symmetric positive definite matrix of 8 × 8 tiles,
// beside one call of LAPACK on the same cores. The loops are those of a textbook for one processor:
// each call waits only for the tiles that it reads, so tiles are computed in parallel. A tile that
// only one call still reads is computed in place.
#include "examples/cholesky/lapack.hpp"
#include "troupe/troupe.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

using Tiles = std::vector<std::vector<Tensor>>;  // the lower triangle: row by row

constexpr std::size_t tiles = 8;
constexpr std::size_t extent = 256;  // rows and columns of a tile
constexpr std::size_t n = tiles * extent;

// Positive definite: 1 / (1 + distance) falls and is convex (Pólya), and the diagonal is larger.
double element(std::size_t row, std::size_t column) {
  const double distance = std::abs(static_cast<double>(row) - static_cast<double>(column));
  return row == column ? 8.0 : 1.0 / (1.0 + distance);
}

std::vector<double> tile_of_a(std::size_t i, std::size_t j) {
  std::vector<double> values;
  for (std::size_t k = 0; k < extent * extent; ++k) {
    values.push_back(element(i * extent + k / extent, j * extent + k % extent));
  }
  return values;
}

// Replaces the tiles of A by those of L.
void factorise(Tiles& a) {
  for (std::size_t k = 0; k < tiles; ++k) {
    a[k][k] = potrf(a[k][k]);
    for (std::size_t i = k + 1; i < tiles; ++i) {
      a[i][k] = trsm(a[k][k], a[i][k], {.side = Side::right, .transpose = true});
    }
    for (std::size_t i = k + 1; i < tiles; ++i) {
      a[i][i] = syrk(a[i][k], a[i][i], {.alpha = -1});
      for (std::size_t j = k + 1; j < i; ++j) {
        a[i][j] = gemm(a[i][k], a[j][k], a[i][j], {.transpose_b = true, .alpha = -1});
      }
    }
  }
}

// The largest difference of an element of L Lᵀ from that of A, in the lower triangle of tiles.
double largest_error(Session& session, const Tiles& l) {
  double largest = 0;
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      Tensor product = session.zeros({extent, extent}, DType::f64);
      for (std::size_t k = 0; k <= j; ++k) {
        product = gemm(l[i][k], l[j][k], product, {.transpose_b = true});
      }
      const std::vector<double> a = tile_of_a(i, j);
      const std::vector<double> values = product.read<double>();
      for (std::size_t k = 0; k < a.size(); ++k) {
        largest = std::max(largest, std::abs(values[k] - a[k]));
      }
    }
  }
  return largest;
}

double gflops(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return std::pow(n, 3) / 3 / took.count() / 1e9;
}

// Returns the rate, and prints whether the factor is right.
double factorise_tiles(const Machine& machine) {
  Session session(machine);
  Tiles a(tiles);
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      a[i].push_back(session.tensor(tile_of_a(i, j), {extent, extent}));
    }
  }
  Tiles warm_up = a;
  factorise(warm_up);
  warm_up.clear();
  session.wait_all();
  const double rate = gflops([&] {
    factorise(a);
    session.wait_all();
  });
  fmt::print("{} x {} tiles of {} x {}: L times its transpose {} A\n", tiles, tiles, extent, extent,
             largest_error(session, a) < 1e-12 ? "equals" : "DIFFERS FROM");
  return rate;
}

double factorise_whole(std::size_t cores) {
  std::vector<double> a;
  for (std::size_t k = 0; k < n * n; ++k) a.push_back(element(k / n, k % n));
  std::vector<double> warm_up = a;
  lapack_cholesky(warm_up, n, cores);
  return gflops([&] { lapack_cholesky(a, n, cores); });
}

int main() {
  Machine machine = local_machine(discover_host(), {.cpu_devices = 1});
  const std::size_t cores = machine.devices[0].cores.size();
  machine.devices[0].streams = static_cast<int>(cores);
  fmt::print("tiles:  {:6.1f} GFLOP/s\n", factorise_tiles(machine));
  fmt::print("LAPACK: {:6.1f} GFLOP/s\n", factorise_whole(cores));
}
