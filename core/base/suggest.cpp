#include "core/base/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <vector>

namespace troupe {
namespace {

// A longer name is no misspelling: it was pasted. It would also take long to compare.
constexpr std::size_t name_bytes_max = 64;
// Names beyond this many aren't listed.
constexpr std::size_t listed_max = 16;

constexpr std::size_t case_cost = 1;
// However many letters differ in case, together they cost less than one edit.
constexpr std::size_t edit_cost = case_cost * name_bytes_max + 1;

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
  if (name.empty() || name.size() > name_bytes_max) return {};
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > name_bytes_max) continue;
    const std::size_t longer = std::max(name.size(), candidate.size());
    const std::size_t edits_max = std::max<std::size_t>(1, longer / 3);
    const std::size_t d = distance(name, candidate);
    // Names of one letter that differ are within one edit, and have nothing in common.
    if (d / edit_cost > edits_max || d >= edit_cost * longer) continue;
    if (best.empty() || d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string listing(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), listed_max); ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > listed_max) text += ", … (" + std::to_string(names.size()) + " in all)";
  return text;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  if (candidates.empty()) return "there are none";
  const std::string_view near = nearest(name, candidates);
  if (!near.empty()) return "did you mean '" + std::string(near) + "'?";
  return "one of: " + listing(candidates);
}

}  // namespace troupe
