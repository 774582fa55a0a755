#include "core/ops/tensor_type.hpp"

#include "core/base/error.hpp"
#include "core/base/random.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > max_rank) {
    throw usage_error(
        fmt::format("shape [{}] has {} dimensions", fmt::join(extents, ", "), extents.size()),
        fmt::format("a tensor has at most {}", max_rank));
  }
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 1) {
      throw usage_error(
          fmt::format("shape [{}] has an extent of {}", fmt::join(extents, ", "), extent),
          "each must be at least 1");
    }
    // Divides, because the product could overflow.
    if (extent > max_elements / product) {
      throw usage_error(fmt::format("shape [{}] has too many elements", fmt::join(extents, ", ")),
                        fmt::format("a tensor has at most 2^40 = {}", max_elements));
    }
    product *= extent;
    extents_[rank_++] = extent;
  }
}

Shape::Shape(std::initializer_list<std::int64_t> extents, CallSite where) {
  try {
    *this = Shape(std::span<const std::int64_t>(extents.begin(), extents.size()));
  } catch (const Error& error) {
    throw error.at(where.place());
  }
}

std::string to_string(const Shape& s) {
  std::string text = "[";
  for (std::size_t d = 0; d < s.rank(); ++d) {
    text += fmt::format("{}{}", d > 0 ? ", " : "", s[d]);
  }
  return text + "]";
}

std::string to_string(const TensorType& t) {
  return fmt::format("{} {}", to_string(t.dtype), to_string(t.shape));
}

std::uint64_t hash_of(const TensorType& t) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(t.dtype));
  for (std::size_t d = 0; d < t.shape.rank(); ++d) {
    hash = mix(hash ^ static_cast<std::uint64_t>(t.shape[d]));
  }
  return hash;
}

}  // namespace troupe
