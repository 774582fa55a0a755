// Images of handwritten digits, as tensors of a session.
#pragma once

#include "examples/mlp/network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace mlp {

constexpr std::int64_t pixels = 64;
constexpr std::int64_t classes = 10;

struct Images {
  std::vector<float> x;  // row by row, each pixel from 0 to 1
  std::vector<float> labels;

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

// In an order that depends on a seed.
inline Images read_digits(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw troupe::run_error("'" + path + "' can't be read", "give the path of digits.csv");
  std::vector<std::array<float, pixels + 1>> rows;
  std::array<float, pixels + 1> numbers{};
  const auto read_row = [&] {
    char comma = 0;
    in >> numbers[0];
    for (std::size_t i = 1; i < numbers.size(); ++i) in >> comma >> numbers[i];
    return !in.fail();
  };
  bool is_good = true;
  while (is_good && (in >> std::ws).peek() != std::char_traits<char>::eof()) {
    is_good = read_row();
    rows.push_back(numbers);
  }
  if (rows.empty() || !is_good) {
    throw troupe::run_error("'" + path + "' has a row that is no image, or no row");
  }
  std::shuffle(rows.begin(), rows.end(), std::mt19937(1));
  Images images;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < pixels; ++i) images.x.push_back(row[i] / 16);
    images.labels.push_back(row.back());
  }
  return images;
}

inline Batch rows(Session& session, const Images& images, std::int64_t first, std::int64_t count) {
  const auto part = [&](const std::vector<float>& values, std::int64_t row_size) {
    return std::span(values).subspan(static_cast<std::size_t>(first * row_size),
                                     static_cast<std::size_t>(count * row_size));
  };
  return {session.tensor(part(images.x, pixels), {count, pixels}),
          session.tensor(part(images.labels, 1), {count})};
}

// The share of images, from number `first` on, whose largest output is that of their label.
inline double accuracy(const Images& images, std::int64_t first,
                       const std::vector<float>& outputs) {
  const std::int64_t count = images.size() - first;
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = outputs.begin() + i * classes;
    const auto guess = std::max_element(row, row + classes) - row;
    right += guess == std::lround(images.labels[static_cast<std::size_t>(first + i)]) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(count);
}

}  // namespace mlp
