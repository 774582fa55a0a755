// "Did you mean": the nearest known name to one that isn't known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe {

// The candidate with the smallest edit distance to `name`, among those that differ from it by at
// most one edit for every three letters of the longer name, or by one edit if both are shorter. The
// case of a letter is no edit. Empty if there is no such candidate.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

// "a, b, c", or "a, b, … (84 in all)" if there are many.
std::string listing(std::span<const std::string_view> names);

// "did you mean 'x'?" if nearest() finds one, else "one of: a, b, c" (or "there are none").
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace troupe
