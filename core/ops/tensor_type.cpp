#include "core/ops/tensor_type.hpp"

#include "core/base/error.hpp"
#include "core/base/random.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

Error too_many_elements(std::string_view what) {
  return usage_error(fmt::format("{} has too many elements", what),
                     fmt::format("a tensor has at most 2^40 = {}", Shape::max_elements));
}

}  // namespace

std::int64_t Extent::checked(std::uint64_t given, CallSite line) {
  if (given <= static_cast<std::uint64_t>(Shape::max_elements)) {
    return static_cast<std::int64_t>(given);
  }
  throw too_many_elements(fmt::format("a shape with an extent of {}", given)).at(line.place());
}

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > max_rank) {
    throw usage_error(fmt::format("shape {} has {} dimensions", to_string(extents), extents.size()),
                      fmt::format("a tensor has at most {}", max_rank));
  }
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 1) {
      throw usage_error(fmt::format("shape {} has an extent of {}", to_string(extents), extent),
                        "each must be at least 1");
    }
    // Divides, because the product could overflow.
    if (extent > max_elements / product) {
      throw too_many_elements(fmt::format("shape {}", to_string(extents)));
    }
    product *= extent;
    extents_[rank_++] = extent;
  }
}

Shape::Shape(std::initializer_list<Extent> extents, CallSite where) {
  std::array<std::int64_t, max_rank> few{};  // takes less time than a vector
  std::vector<std::int64_t> many(extents.size() > max_rank ? extents.size() : 0);
  const std::span<std::int64_t> values =
      many.empty() ? std::span(few).first(extents.size()) : std::span(many);
  std::ranges::transform(extents, values.begin(), &Extent::value);
  try {
    *this = Shape(values);
  } catch (const Error& error) {
    throw error.at(where.place());
  }
}

std::string to_string(const Shape& s) {
  return to_string(s.extents());
}

std::string to_string(std::span<const std::int64_t> extents) {
  const auto shown = extents.first(std::min(extents.size(), 2 * Shape::max_rank));
  return fmt::format("[{}{}]", fmt::join(shown, ", "), shown.size() < extents.size() ? ", …" : "");
}

std::string to_string(const TensorType& t) {
  return fmt::format("{} {}", to_string(t.dtype), to_string(t.shape));
}

std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << to_string(s);
}

std::ostream& operator<<(std::ostream& out, const TensorType& t) {
  return out << to_string(t);
}

std::uint64_t hash_of(const TensorType& t) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(t.dtype));
  for (std::size_t d = 0; d < t.shape.rank(); ++d) {
    hash = mix(hash ^ static_cast<std::uint64_t>(t.shape[d]));
  }
  return hash;
}

}  // namespace troupe
