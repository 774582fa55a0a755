// The matrix A that the example factorises, and by how much L times its transpose differs from it.
#pragma once

#include "troupe/troupe.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

using Tiles = std::vector<std::vector<troupe::Tensor>>;  // the lower triangle: row by row

constexpr std::size_t tiles = 8;     // in a row, and in a column
constexpr std::size_t extent = 256;  // rows and columns of a tile
constexpr std::size_t n = tiles * extent;

// Positive definite: 1 / (1 + distance) falls and is convex (Pólya), and the diagonal is larger.
inline double element(std::size_t row, std::size_t column) {
  const double distance = std::abs(static_cast<double>(row) - static_cast<double>(column));
  return row == column ? 8.0 : 1.0 / (1.0 + distance);
}

// `rows` x `columns` elements from this one on, row by row.
inline std::vector<double> part_of_a(std::size_t row, std::size_t column, std::size_t rows,
                                     std::size_t columns) {
  std::vector<double> values;
  values.reserve(rows * columns);
  for (std::size_t k = 0; k < rows * columns; ++k) {
    values.push_back(element(row + k / columns, column + k % columns));
  }
  return values;
}

inline std::vector<double> tile_of_a(std::size_t i, std::size_t j) {
  return part_of_a(i * extent, j * extent, extent, extent);
}

// The largest difference of an element of L Lᵀ from that of A, in the lower triangle of tiles.
inline double largest_error(troupe::Session& session, const Tiles& l) {
  double largest = 0;
  for (std::size_t i = 0; i < tiles; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      troupe::Tensor product = session.zeros({extent, extent}, troupe::DType::f64);
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
