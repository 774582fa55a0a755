#include "core/ops/element_number.hpp"

#include "core/base/error.hpp"

#include <cmath>

#include <fmt/format.h>

namespace troupe {

void check_element_number(const Attrs& attrs, std::string_view kind, std::string_view name,
                          DType dtype) {
  if (!is_integer(dtype)) return;
  const auto value = attrs.get<double>(name);
  const double limit = dtype == DType::i32 ? 0x1p31 : 0x1p63;
  if (value >= -limit && value < limit && std::trunc(value) == value) return;
  throw usage_error(fmt::format("'{}' of '{}' is {}", name, kind, value),
                    fmt::format("make it a whole number that {} can hold, or choose another dtype",
                                to_string(dtype)));
}

}  // namespace troupe
