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

// Small beside the diagonal, so that the matrix is positive definite.
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

int main() {
  Machine machine = local_machine(discover_host(), {.cpu_devices = 1});
  machine.devices[0].streams = static_cast<int>(machine.devices[0].cores.size());
  Session session(machine);
  Tiles a;
  double rate = 0;
  for (int run = 0; run < 2; ++run) {  // the first also touches memory for the first time
    a.assign(tiles, {});
    for (std::size_t i = 0; i < tiles; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        a[i].push_back(session.tensor(tile_of_a(i, j), {extent, extent}));
      }
    }
    session.wait_all();
    rate = gflops([&] {
      factorise(a);
      session.wait_all();
    });
  }
  fmt::print("{} x {} tiles of {} x {}: L times its transpose {} A\n", tiles, tiles, extent, extent,
             largest_error(session, a) < 1e-12 ? "equals" : "DIFFERS FROM");
  fmt::print("tiles:  {:6.1f} GFLOP/s\n", rate);
  std::vector<double> whole;
  for (std::size_t k = 0; k < n * n; ++k) whole.push_back(element(k / n, k % n));
  fmt::print("LAPACK: {:6.1f} GFLOP/s\n",
             gflops([&] { lapack_cholesky(whole, n, machine.devices[0].cores.size()); }));
}
