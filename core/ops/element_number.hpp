// Attributes that become elements, such as `alpha` of scale.
#pragma once

#include "core/ops/op_kind.hpp"

#include <string_view>

namespace troupe {

// Throws a usage Error without a place if elements of `dtype` can't be the number `name`, an
// attribute of an op of kind `kind`: integers are whole, and have a range. Other elements are
// rounded.
void check_element_number(const Attrs& attrs, std::string_view kind, std::string_view name,
                          DType dtype);

}  // namespace troupe
