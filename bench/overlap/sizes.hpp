// How large the experiments are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::bench {

// `count` products of two matrices [extent, extent] of float32.
struct Products {
  std::size_t count = 0;
  std::int64_t extent = 0;

  std::uint64_t bytes() const { return 4 * static_cast<std::uint64_t>(extent * extent) * count; }
  double flops() const {
    const auto n = static_cast<double>(extent);
    return 2 * n * n * n * static_cast<double>(count);
  }
};

struct Sizes {
  std::string_view name;
  Products cpu;     // experiment 1
  Products gpu;     // experiments 1 and 3a
  Products many;    // experiments 2 and 3b
  Products copies;  // of each direction, both at once
  Products small;   // ops whose host time counts
  struct {
    std::int64_t rows, inputs, hidden, outputs;  // rows: of each worker
  } training;
};

// Those of the textbook section "Automatic Parallelism" (Dive into Deep Learning); larger ones, of
// which the smallest experiment takes as long on large GPUs; and small ones that show whether all
// works, whose figures mean nothing.
inline constexpr Sizes chapter_sizes{.name = "chapter",
                                     .cpu = {10, 2000},
                                     .gpu = {10, 6000},
                                     .many = {50, 4000},
                                     .copies = {16, 4000},
                                     .small = {10'000, 64},
                                     .training = {24'576, 64, 4'096, 4'096}};
inline constexpr Sizes large_sizes{.name = "large",
                                   .cpu = {10, 4000},
                                   .gpu = {10, 16'000},
                                   .many = {50, 8000},
                                   .copies = {16, 8000},
                                   .small = {100'000, 64},
                                   .training = {49'152, 64, 8'192, 8'192}};
inline constexpr Sizes quick_sizes{.name = "quick",
                                   .cpu = {3, 32},
                                   .gpu = {3, 64},
                                   .many = {5, 48},
                                   .copies = {4, 64},
                                   .small = {100, 16},
                                   .training = {32, 8, 16, 16}};

}  // namespace troupe::bench
