// Tiled Cholesky factorisation: A = L Lᵀ for a symmetric positive definite matrix of 8 × 8 tiles,
// beside one call of LAPACK on the same cores. The loops are those of a textbook for one processor:
// each call waits only for the tiles that it reads, so tiles are computed in parallel. A tile that
// only one call still reads is computed in place.
#include "examples/cholesky/lapack.hpp"
#include "examples/cholesky/matrix.hpp"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include <fmt/format.h>

using namespace troupe;

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

double gflops(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return std::pow(n, 3) / 3 / took.count() / 1e9;
}

int main() {
  Session session(local_machine(discover_host(),
                                {.cpu_devices = 1, .streams = LocalMachineOptions::one_per_core}));
  const std::size_t cores = session.machine().devices[0].cores.size();

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
  const double tiled = gflops([&] {
    factorise(a);
    session.wait_all();
  });

  std::vector<double> whole = part_of_a(0, 0, n, n);
  std::vector<double> copy = whole;
  lapack_cholesky(copy, n, cores);  // warms up, too
  const double lapack = gflops([&] { lapack_cholesky(whole, n, cores); });

  fmt::print("{} x {} tiles of {} x {}: L times its transpose {} A\n", tiles, tiles, extent, extent,
             largest_error(session, a) < 1e-12 ? "equals" : "DIFFERS FROM");
  fmt::print("tiles:  {:6.1f} GFLOP/s\n", tiled);
  fmt::print("LAPACK: {:6.1f} GFLOP/s\n", lapack);
}
