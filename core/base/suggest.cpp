#include "core/base/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace troupe {
namespace {

// Longer names are pasted, not typed: no misspelling of a known one, and costly to compare.
constexpr std::size_t longest_name = 64;
// A listing beyond this helps nobody.
constexpr std::size_t most_listed = 16;

constexpr std::size_t edit_cost = 2;
constexpr std::size_t case_cost = 1;  // "gb/s" is nearer to "GB/s" than to "kB/s"

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

std::size_t substitution_cost(char a, char b) {
  if (a == b) return 0;
  return lower(a) == lower(b) ? case_cost : edit_cost;
}

// Edit distance where two swapped neighbours count as one edit (optimal string alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j * edit_cost;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i * edit_cost;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + edit_cost, row[j - 1] + edit_cost,
                         last[j - 1] + substitution_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + edit_cost);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  if (name.empty() || name.size() > longest_name) return {};
  const std::size_t likely = edit_cost * std::max<std::size_t>(2, name.size() / 3);
  std::string_view best;
  std::size_t best_distance = likely + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > longest_name) continue;
    const std::size_t d = distance(name, candidate);
    // Two short names that share no letter are no likely misspelling of each other.
    if (d >= edit_cost * std::max(name.size(), candidate.size())) continue;
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  if (candidates.empty()) return "there are none";
  const std::string_view near = nearest(name, candidates);
  if (!near.empty()) return "did you mean '" + std::string(near) + "'?";
  std::string text = "one of: ";
  for (std::size_t i = 0; i < std::min(candidates.size(), most_listed); ++i) {
    if (i > 0) text += ", ";
    text += candidates[i];
  }
  if (candidates.size() > most_listed) {
    text += ", … (" + std::to_string(candidates.size()) + " in all)";
  }
  return text;
}

}  // namespace troupe
