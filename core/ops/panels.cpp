#include "core/ops/panels.hpp"

#include <bit>

namespace troupe {
namespace {

constexpr std::int64_t align = 8;  // a multiple of the inner kernels' block sizes

// Each further panel of rows packs all of B once more, which costs one thread about 16/m of the
// whole product. Each further panel of columns packs A once more: 30/n.
//
// Measured with OpenBLAS 0.3.21's AVX2 kernels on one core of a Sapphire Rapids, float32 squares,
// median of alternating pairs against one call: 1.5 % for 1000, 1.0 % for 1500, 1.2 % for 2000, and
// 1 % within the noise of 1 % for 3000 and 4000. With OpenBLAS's AVX-512 kernels, which compute
// faster but don't pack faster, 3 to 7 %. A grid of 4 × 4 for a team of 16 threads, on one core of
// an AMD EPYC: 3 to 7 % for 2000 with the AVX2 kernels, 7 to 11 % with those for AVX-512; 6 to 7 %
// for 1000 with either. Of squares of 96 to 512 on one core of an EPYC, with either kernels, two
// panels of rows cost up to 5 %, once 15 %, and for 256 to 512 a grid of 4 × 4 costs 3 to 18 %.
constexpr double row_panel_cost = 16;
constexpr double column_panel_cost = 30;

double cost(const Cuttable& whole, std::int64_t row_panels, std::int64_t column_panels) {
  return static_cast<double>(row_panels - 1) * row_panel_cost / static_cast<double>(whole.rows) +
         static_cast<double>(column_panels - 1) * column_panel_cost /
             static_cast<double>(whole.columns);
}

// The time of the widest team, in units of that of one result on one of its threads.
double time(const Cuttable& whole, std::int64_t row_panels, std::int64_t column_panels,
            std::int64_t widest_team) {
  const std::int64_t panels = row_panels * column_panels;
  const std::int64_t rounds = (whole.batch * panels + widest_team - 1) / widest_team;
  return static_cast<double>(rounds) / static_cast<double>(panels) *
         (1 + cost(whole, row_panels, column_panels));
}

// The largest number of panels whose cost is at most 2 %, rounded down to a power of two, which
// divides evenly among the usual numbers of cores.
Panels cheap_panels(std::int64_t length, double panel_cost) {
  const auto length_per_panel = static_cast<std::int64_t>(50 * panel_cost);
  const auto most = static_cast<std::uint64_t>(1 + length / length_per_panel);
  return {length, static_cast<std::int64_t>(std::bit_floor(most))};
}

Grid cheap_grid(const Cuttable& whole) {
  const Panels rows = cheap_panels(whole.rows, row_panel_cost);
  const Panels columns = cheap_panels(whole.columns, column_panel_cost);
  if (rows.count >= columns.count) return {rows, {whole.columns, 1}};
  return {{whole.rows, 1}, columns};
}

}  // namespace

Panels::Panels(std::int64_t whole, std::int64_t wanted) : length(whole) {
  extent = ((length + wanted - 1) / wanted + align - 1) / align * align;
  count = (length + extent - 1) / extent;
}

// Panels that cost at most 2 %, in one direction, if they keep all threads of the widest team busy.
// Else the grid that takes the least time on all of them. A panel of half a million multiplications
// takes 10 us or more, as long as it takes to wake a thread that sleeps; one that spins is there
// after 1 us.
Grid cut(const Cuttable& whole, std::int64_t widest_team) {
  constexpr double multiply_adds_min = 5e5;
  Grid best = cheap_grid(whole);
  if (whole.batch * best.count() >= widest_team) return best;
  const std::int64_t wanted = (widest_team + whole.batch - 1) / whole.batch;
  const auto panels_max = static_cast<std::int64_t>(
      std::min(static_cast<double>(wanted), whole.multiply_adds / multiply_adds_min));
  double best_time = time(whole, best.rows.count, best.columns.count, widest_team);
  for (std::int64_t r = 1; r <= panels_max; ++r) {
    const Panels rows(whole.rows, r);
    if (rows.count < r) continue;
    for (std::int64_t c = 1; c <= panels_max / r; ++c) {
      const Panels columns(whole.columns, c);
      if (columns.count < c) continue;
      const double its_time = time(whole, r, c, widest_team);
      if (its_time >= best_time) continue;
      best = {rows, columns};
      best_time = its_time;
    }
  }
  return best;
}

}  // namespace troupe
