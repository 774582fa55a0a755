#include "core/ops/attrs.hpp"

#include "core/base/error.hpp"
#include "core/base/suggest.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

namespace troupe {

std::string_view type_name(const Attr& value) {
  constexpr std::array<std::string_view, std::variant_size_v<Attr>> names = {
      "true or false",     "a whole number",  "a number",
      "a duration",        "a text",          "a list of whole numbers",
      "a list of numbers", "a list of texts", "values of a tensor"};
  return names[value.index()];
}

bool are_alike(const Attr& a, const Attr& b) {
  const auto have_same_bits = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  if (a.index() != b.index()) return false;
  if (const auto* const x = std::get_if<double>(&a)) return have_same_bits(*x, std::get<double>(b));
  if (const auto* const x = std::get_if<Numbers>(&a)) {
    return std::ranges::equal(*x, std::get<Numbers>(b), have_same_bits);
  }
  return a == b;
}

void Attrs::set(std::string_view name, Attr value) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  if (found != entries_.end()) {
    found->value = std::move(value);
  } else {
    entries_.push_back({name, std::move(value)});
  }
}

void Attrs::refuse(std::string_view name, const Attr& wanted) const {
  const Attr* const value = find(name);
  if (value != nullptr) {
    throw usage_error(
        fmt::format("attribute '{}' is {}, read as {}", name, type_name(*value), type_name(wanted)),
        "read the type that the op kind gives it");
  }
  std::vector<std::string_view> names;
  for (const Entry& entry : entries_) names.push_back(entry.name);
  throw usage_error(fmt::format("there is no attribute '{}' to read", name),
                    suggestion(name, names));
}

}  // namespace troupe
