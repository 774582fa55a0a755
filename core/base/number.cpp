#include "core/base/number.hpp"

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>

namespace troupe {

Number leading_number(std::string_view text) {
  double value = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(rest - text.data());
  if (status == std::errc::result_out_of_range) {
    // from_chars says the same of both ends; strtod gives zero, or next to it, at the lower one.
    // The program's own locale may have a comma in place of the point.
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    const double near = strtod_l(std::string(text.substr(0, length)).c_str(), nullptr, c_locale);
    return {.status = std::abs(near) < 1 ? NumberStatus::too_near_zero : NumberStatus::too_large};
  }
  // from_chars also reads "inf" and "nan".
  if (status != std::errc{} || !std::isfinite(value)) return {.status = NumberStatus::no_number};
  const std::string_view after = text.substr(length);
  constexpr std::string_view separators = ",._'";
  if (after.size() >= 2 && separators.find(after[0]) != std::string_view::npos && after[1] >= '0' &&
      after[1] <= '9') {
    return {.status = NumberStatus::has_separators};
  }
  return {.value = value, .length = length};
}

}  // namespace troupe
