// The dependence patterns of Task Bench (Slaughter et al., SC 2020): a grid of points, `steps` rows
// of `width` columns, where point (t, i) depends on points of row t-1. Pure functions, so that the
// code that executes a point can compute its dependences again and check them. patterns.hpp makes
// graphs of patterns.
//
// To add a pattern, extend the enumeration, the table in dependence.cpp, Pattern::inputs_max and
// for_each_dependence.
#pragma once

#include "core/base/random.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe {

enum class Dependence : std::uint8_t {
  trivial,
  no_comm,
  stencil_1d,
  stencil_1d_periodic,
  dom,
  tree,
  fft,
  all_to_all,
  nearest,
  spread,
  random_nearest,
};

// The name and parameters of a pattern.
struct DependenceInfo {
  std::string_view name;
  std::string_view summary;  // one line, for listings
  bool takes_radix = false;
  bool takes_period = false;
  bool takes_fraction = false;  // and a seed
};

// All patterns, indexed by Dependence.
std::span<const DependenceInfo> dependences();
const DependenceInfo& info(Dependence dependence);

struct Point {
  std::uint32_t t = 0;  // row
  std::uint32_t i = 0;  // column
  friend bool operator==(const Point&, const Point&) = default;
};

// A pattern and its size. check() must have passed before any other function is called.
struct Pattern {
  Dependence dependence = Dependence::trivial;
  std::uint32_t width = 1;
  std::uint32_t steps = 1;
  std::uint32_t radix = 3;   // columns that nearest, random_nearest and spread read
  std::uint32_t period = 3;  // rows after which spread repeats
  double fraction = 0.25;    // of the neighbours that random_nearest reads
  std::uint64_t seed = 0;    // of the random choice of random_nearest

  friend bool operator==(const Pattern&, const Pattern&) = default;

  // The number of points in row t. The rows of a tree double until they reach the width.
  std::uint32_t points_of_row(std::uint32_t t) const {
    if (dependence != Dependence::tree || t >= doublings()) return width;
    return std::uint32_t{1} << t;
  }
  std::uint64_t points() const { return first_of_row(steps); }
  // The number of the first point of row t. Points are numbered row by row.
  std::uint64_t first_of_row(std::uint32_t t) const {
    if (dependence != Dependence::tree) return std::uint64_t{t} * width;
    const std::uint32_t grown = std::min(t, doublings());
    return ((std::uint64_t{1} << grown) - 1) + std::uint64_t{t - grown} * width;
  }
  Point point(std::uint32_t index) const {
    if (dependence == Dependence::tree) {
      const std::uint32_t grown = (std::uint32_t{1} << doublings()) - 1;
      if (index < grown) {
        const auto t = static_cast<std::uint32_t>(std::bit_width(std::uint64_t{index} + 1)) - 1;
        return {t, index + 1 - (std::uint32_t{1} << t)};
      }
      return {doublings() + (index - grown) / width, (index - grown) % width};
    }
    return {index / width, index % width};
  }

  // The largest number of columns that a point reads.
  std::uint32_t inputs_max() const;

  // ceil(log2(width)): the rows before a tree reaches its width, and the period of fft.
  std::uint32_t doublings() const { return static_cast<std::uint32_t>(std::bit_width(width - 1)); }

  // Throws a usage Error if width, steps, radix or period is 0, the radix of a spread exceeds the
  // width, the fraction is outside [0, 1], or there are too many points or dependences.
  void check() const;

  static constexpr std::uint64_t points_max = 20'000'000;
  static constexpr std::int64_t seed_max = std::int64_t{1} << 40;
  static constexpr std::uint64_t dependences_max = 1'000'000'000;
};

// Calls f(column) once for each column of row t-1 that point (t, i) depends on. Columns beyond the
// row are left out. Row 0 has no dependences. Allocates no memory.
template <class F>
void for_each_dependence(const Pattern& p, std::uint32_t t, std::uint32_t i, F&& f) {
  if (t == 0) return;
  const std::uint32_t w = p.width;
  // The existing columns among i-below to i+above.
  const auto window = [&](std::uint32_t below, std::uint32_t above) {
    const std::uint32_t last = above < w - i ? i + above : w - 1;
    for (std::uint32_t j = i > below ? i - below : 0; j <= last; ++j) f(j);
  };
  switch (p.dependence) {
    case Dependence::trivial:
      return;
    case Dependence::no_comm:
      return f(i);
    case Dependence::stencil_1d:
      return window(1, 1);
    case Dependence::stencil_1d_periodic: {
      if (w > 1) f(i == 0 ? w - 1 : i - 1);
      f(i);
      if (w > 2) f(i == w - 1 ? 0 : i + 1);
      return;
    }
    case Dependence::dom:
      return window(1, 0);
    case Dependence::tree:
      return f(i / 2);
    case Dependence::fft: {
      const std::uint32_t l = p.doublings();
      if (l == 0) return f(i);
      const std::uint32_t distance = std::uint32_t{1} << ((t + l - 1) % l);
      if (i >= distance) f(i - distance);
      f(i);
      if (distance < w - i) f(i + distance);
      return;
    }
    case Dependence::all_to_all:
      return window(w, w);
    case Dependence::nearest:
      return window(p.radix / 2, (p.radix - 1) / 2);
    case Dependence::spread: {
      const std::uint64_t shift = t % p.period;
      for (std::uint32_t k = 0; k < p.radix; ++k) {
        const std::uint64_t step = std::uint64_t{k} * w / p.radix + (k > 0 ? shift : 0);
        const auto j = static_cast<std::uint32_t>((i + step) % w);
        if (k == 0 || j != i) f(j);
      }
      return;
    }
    case Dependence::random_nearest: {
      const std::uint64_t row = mix(mix(p.seed) + t);
      const std::uint64_t point = mix(row + i);
      const auto keep = [&](std::uint32_t j) {
        return static_cast<double>(mix(point + j) >> 11) * 0x1p-53 < p.fraction;
      };
      const std::uint32_t below = p.radix / 2;
      const std::uint32_t above = (p.radix - 1) / 2;
      const std::uint32_t last = above < w - i ? i + above : w - 1;
      for (std::uint32_t j = i > below ? i - below : 0; j <= last; ++j) {
        if (j == i || keep(j)) f(j);
      }
      return;
    }
  }
}

}  // namespace troupe
