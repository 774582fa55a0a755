#include "actors/nodes/machine_values.hpp"

namespace troupe {

caf::error assign_extents(Shape& shape, std::span<const std::int64_t> extents) {
  try {
    shape = Shape(extents);
  } catch (const Error& error) {
    return caf::make_error(caf::sec::invalid_argument, error.what());
  }
  return caf::none;
}

}  // namespace troupe
