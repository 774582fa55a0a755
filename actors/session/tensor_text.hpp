// A tensor as text, for people to look at.
#pragma once

#include "core/ops/tensor_type.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace troupe {

// The elements in brackets, an axis in a pair of them, as Tensor::text() says.
std::string tensor_text(const TensorType& type, std::span<const std::byte> values);

}  // namespace troupe
