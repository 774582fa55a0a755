// Tiled Cholesky factorisation: A = L Lᵀ for a symmetric positive definite matrix of 8 × 8 tiles.
// The loops are those of a textbook for one processor. Each call waits only for the tiles that it
// reads, so tiles are computed in parallel on all streams of the device. A tile that only one call
// still reads is computed in place.
//
// With --time also factorises a matrix of 4096 × 4096, beside one call of LAPACK on all cores.
#include "troupe/troupe.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

// Of OpenBLAS.
extern "C" void openblas_set_num_threads(int threads);
extern "C" void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);

using namespace troupe;

namespace {

constexpr std::size_t tiles = 8;

// Small beside the diagonal, so that the matrix is positive definite.
double element(std::size_t row, std::size_t column) {
  const double distance = std::abs(static_cast<double>(row) - static_cast<double>(column));
  return row == column ? 8.0 : 1.0 / (1.0 + distance);
}

using Tiles = std::vector<std::vector<Tensor>>;  // the lower triangle: row by row

// `extent`: rows and columns of a tile.
Tiles make_matrix(Session& session, std::size_t extent) {
  Tiles a(tiles);
  std::vector<double> values(extent * extent);
  const auto n = static_cast<std::int64_t>(extent);
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = element(i * extent + k / extent, j * extent + k % extent);
      }
      a[i].push_back(session.tensor(values, {n, n}));
    }
  }
  return a;
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

// The largest difference of an element of L Lᵀ from that of A, in the lower triangle.
double largest_error(const Tiles& l, std::size_t extent) {
  const std::size_t n = tiles * extent;
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

// The rate of a factorisation, which `work` makes: the better of two.
void print_rate(std::string_view name, std::size_t n, const std::function<double()>& work) {
  const double seconds = std::min(work(), work());
  const auto extent = static_cast<double>(n);
  fmt::print("{}: {:.1f} GFLOP/s\n", name, extent * extent * extent / 3 / seconds / 1e9);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// OpenBLAS's own threads, which Troupe doesn't use, are only for this comparison.
void time_lapack(std::size_t n, std::size_t cores) {
  openblas_set_num_threads(static_cast<int>(cores));
  print_rate("one call of LAPACK", n, [&] {
    std::vector<double> a(n * n);
    for (std::size_t k = 0; k < a.size(); ++k) a[k] = element(k / n, k % n);
    const int extent = static_cast<int>(n);
    int info = 0;
    return seconds_of([&] { dpotrf_("L", &extent, a.data(), &extent, &info); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  Machine machine = local_machine(discover_host(), {.cpu_devices = 1});
  const std::size_t cores = machine.devices[0].cores.size();
  machine.devices[0].streams = static_cast<int>(std::max<std::size_t>(2, cores));
  Session session(machine);

  constexpr std::size_t small = 32;
  Tiles matrix = make_matrix(session, small);
  factorise(matrix);
  fmt::print("{} x {} tiles of {} x {}: L times its transpose {} A\n", tiles, tiles, small, small,
             largest_error(matrix, small) < 1e-12 ? "equals" : "DIFFERS FROM");

  if (argc < 2 || std::string_view(argv[1]) != "--time") return 0;
  constexpr std::size_t large = 512;
  print_rate("tiles of 512 x 512", tiles * large, [&] {
    Tiles a = make_matrix(session, large);
    session.wait_all();
    return seconds_of([&] {
      factorise(a);
      session.wait_all();
    });
  });
  time_lapack(tiles * large, cores);
}
