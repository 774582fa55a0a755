// Troupe: the loops of a textbook as calls of a session, on one device with a stream for each core.
#include "actors/session.hpp"
#include "actors/tensor_ops.hpp"
#include "bench/cholesky/matrix.hpp"
#include "core/machine/discover.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace troupe::bench {
namespace {

using Rows = std::vector<std::vector<Tensor>>;  // the lower triangle, tile by tile

// FLOP/s of one core, by op kind, as a machine file says them: the better of two calls of each
// kernel. Blocks for the time of some five products of tiles. Empty for a matrix of one tile or
// two.
std::map<std::string, double, std::less<>> measure_speeds(const Problem& problem) {
  std::map<std::string, double, std::less<>> speeds;
  if (problem.tiles() < 3) return speeds;
  const int tile = problem.tile;
  TiledMatrix matrix({.extent = 3 * tile, .tile = tile, .cores = {}});
  const double cube = static_cast<double>(tile) * tile * tile;
  for (int i = 0; i < 2; ++i) {
    matrix.fill();
    const auto time = [&](const char* kind, double flops, const std::function<void()>& kernel) {
      const auto begin = std::chrono::steady_clock::now();
      kernel();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      speeds[kind] = std::max(speeds[kind], flops / took.count());
    };
    time("potrf", cube / 3, [&] { matrix.potrf(0); });
    time("trsm", cube, [&] { matrix.trsm(1, 0); });
    matrix.trsm(2, 0);
    time("syrk", cube, [&] { matrix.syrk(1, 0); });
    time("gemm", 2 * cube, [&] { matrix.gemm(2, 1, 0); });
  }
  return speeds;
}

// One device, with a stream for each core: each takes the next tile that is ready.
Machine stream_per_core(const Problem& problem) {
  Machine machine{.name = "cholesky", .devices = {}, .memories = {}, .links = {}};
  machine.memories.push_back(
      {.name = "host", .size_bytes = discover_host().available_memory_bytes / 2});
  machine.devices.push_back({.name = "cpu0",
                             .memory = MemoryId{0},
                             .streams = static_cast<int>(problem.cores.size()),
                             .op_flops = measure_speeds(problem),
                             .flops = 30e9,
                             .cores = problem.cores});
  return machine;
}

Rows copy_in(Session& session, const TiledMatrix& matrix, std::int64_t tile) {
  Rows a(static_cast<std::size_t>(matrix.tiles()));
  for (int i = 0; i < matrix.tiles(); ++i) {
    for (int j = 0; j <= i; ++j) {
      const std::span<const double> values(matrix.tile(i, j), matrix.tile_size());
      a[static_cast<std::size_t>(i)].push_back(session.tensor(values, {tile, tile}));
    }
  }
  session.wait_all();
  return a;
}

void copy_out(const Rows& a, const TiledMatrix& matrix) {
  for (int i = 0; i < matrix.tiles(); ++i) {
    for (int j = 0; j <= i; ++j) {
      const std::vector<double> values =
          a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)].read<double>();
      std::memcpy(matrix.tile(i, j), values.data(), values.size() * sizeof(double));
    }
  }
}

// Replaces the tiles of A by those of L.
void factorise(Session& session, Rows& a) {
  const std::size_t tiles = a.size();
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
  session.wait_all();
}

}  // namespace

double measure_troupe(const Problem& problem) {
  TiledMatrix matrix(problem);
  Session session(stream_per_core(problem));
  Rows a;
  return time_factorisation(matrix, {.before = [&] { a = copy_in(session, matrix, problem.tile); },
                                     .factorise = [&] { factorise(session, a); },
                                     .after = [&] { copy_out(a, matrix); }});
}

}  // namespace troupe::bench
