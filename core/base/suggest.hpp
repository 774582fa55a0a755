// "Did you mean": the nearest known name to one that isn't known.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace troupe {

// The candidate with the smallest edit distance to `name`; empty where none is near enough to be a
// likely misspelling (more than a third of its letters, but at least two).
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

// "did you mean 'x'?" where one is near, else "one of: a, b, c" (or "there are none").
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace troupe
