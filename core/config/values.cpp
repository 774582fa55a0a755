#include "core/config/values.hpp"

#include "core/base/number.hpp"
#include "core/base/suggest.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace troupe {
namespace {

[[noreturn]] void refuse(const Node& node, std::string_view what, std::string_view expected) {
  throw usage_error(node.place(), fmt::format("{} is {}", what, describe(node)),
                    fmt::format("write {}", expected));
}

const std::string& scalar(const Node& node, std::string_view what, std::string_view expected) {
  if (node.type != Node::Type::scalar || node.text.empty()) refuse(node, what, expected);
  return node.text;
}

// Reads a quantity with a unit by one of the parsers of core/base/units.hpp.
template <class T>
T read_quantity(const Node& node, std::string_view what, std::string_view example,
                T (*parse)(std::string_view)) {
  const std::string& text = scalar(node, what, fmt::format("a quantity such as {}", example));
  try {
    return parse(text);
  } catch (const Error& error) {
    throw usage_error(node.place(), fmt::format("{}: {}", what, error.problem()), error.remedy());
  }
}

std::int64_t read_integer(const Node& node, std::string_view what, std::int64_t value_min,
                          std::int64_t value_max, std::string_view expected) {
  const std::optional<std::int64_t> value = whole_number(scalar(node, what, expected));
  if (!value || *value < value_min || *value > value_max) refuse(node, what, expected);
  return *value;
}

}  // namespace

std::string describe(const Node& node) {
  switch (node.type) {
    case Node::Type::null:
      return "empty";
    case Node::Type::scalar:
      return fmt::format("'{}'", shortened(node.text));
    case Node::Type::list:
      return "a list";
    case Node::Type::map:
      return "a map";
  }
  return {};
}

const Node& expect_map(const Node& node, std::string_view what) {
  if (node.type != Node::Type::map) refuse(node, what, "a map, {key: value, …}");
  return node;
}

const Node& expect_list(const Node& node, std::string_view what) {
  if (node.type != Node::Type::list) refuse(node, what, "a list, [a, b, …]");
  return node;
}

std::string read_string(const Node& node, std::string_view what, std::string_view expected) {
  return scalar(node, what, expected);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc{} || rest != end) return std::nullopt;
  return value;
}

std::int64_t read_integer(const Node& node, std::string_view what, std::int64_t value_min,
                          std::int64_t value_max) {
  const std::string expected = fmt::format("a whole number from {} to {}", value_min, value_max);
  return read_integer(node, what, value_min, value_max, expected);
}

std::optional<std::int64_t> read_integer_or(std::string_view word, const Node& node,
                                            std::string_view what, std::int64_t value_min,
                                            std::int64_t value_max) {
  if (node.type == Node::Type::scalar && node.text == word) return std::nullopt;
  const std::string expected =
      fmt::format("a whole number from {} to {}, or {}", value_min, value_max, word);
  return read_integer(node, what, value_min, value_max, expected);
}

double read_number(const Node& node, std::string_view what) {
  constexpr std::string_view expected = "a number such as 0.5";
  const std::string& text = scalar(node, what, expected);
  const Number number = leading_number(text);
  if (number.status == NumberStatus::too_large || number.status == NumberStatus::too_near_zero) {
    throw usage_error(
        node.place(),
        fmt::format("{} is {}, which is too {}", what, describe(node),
                    number.status == NumberStatus::too_large ? "large" : "close to zero"),
        fmt::format("write {}", expected));
  }
  if (number.status != NumberStatus::ok || number.length != text.size()) {
    refuse(node, what, expected);
  }
  return number.value;
}

bool read_bool(const Node& node, std::string_view what) {
  constexpr std::string_view expected = "true or false";
  const std::string& text = scalar(node, what, expected);
  if (text != "true" && text != "false") refuse(node, what, expected);
  return text == "true";
}

double read_flops(const Node& node, std::string_view what) {
  return read_quantity(node, what, "14.4 TFLOP/s", parse_flops);
}

double read_bandwidth(const Node& node, std::string_view what) {
  return read_quantity(node, what, "1.44 GB/s", parse_bandwidth);
}

std::uint64_t read_bytes(const Node& node, std::string_view what) {
  return read_quantity(node, what, "16 GiB", parse_bytes);
}

Duration read_duration(const Node& node, std::string_view what) {
  return read_quantity(node, what, "10 us", parse_duration);
}

std::size_t read_choice(const Node& node, std::string_view what,
                        std::span<const std::string_view> choices) {
  const std::string expected = choices.size() == 2
                                   ? fmt::format("{}", fmt::join(choices, " or "))
                                   : fmt::format("one of: {}", fmt::join(choices, ", "));
  const std::string& text = scalar(node, what, expected);
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end()) {
    throw usage_error(node.place(), fmt::format("{} is {}", what, describe(node)),
                      suggestion(text, choices));
  }
  return static_cast<std::size_t>(found - choices.begin());
}

Shape read_shape(const Node& node, std::string_view what) {
  std::vector<std::int64_t> extents;
  for (const Node& n : expect_list(node, what).children) {
    extents.push_back(read_integer(n, what, 1, Shape::max_elements));
  }
  if (extents.empty()) {
    throw usage_error(node.place(), fmt::format("{} is an empty list", what),
                      "write its extents, as in [6000, 6000]");
  }
  try {
    return Shape(extents);
  } catch (const Error& error) {
    throw error.at(node.place());
  }
}

DType read_dtype(const Node& node, std::string_view what) {
  return static_cast<DType>(read_choice(node, what, dtype_names));
}

void expect_identifier(const Node& key, std::string_view what) {
  if (is_identifier(key.text)) return;
  throw usage_error(key.place(), fmt::format("{} can't be named {}", what, describe(key)),
                    "begin with a letter or _, then use letters, digits, '_', '.' and '-'");
}

const Node* find(const Node& map, std::string_view key) {
  for (std::size_t i = 0; i < map.entry_count(); ++i) {
    if (map.key(i).text == key) return &map.value(i);
  }
  return nullptr;
}

const Node& require(const Node& map, std::string_view key, std::string_view what) {
  if (const Node* value = find(map, key)) return *value;
  throw usage_error(map.place(), fmt::format("{} has no '{}'", what, key),
                    fmt::format("add `{}: …`", key));
}

void check_keys(const Node& map, std::string_view what, std::span<const std::string_view> known) {
  for (std::size_t i = 0; i < map.entry_count(); ++i) {
    const std::string& key = map.key(i).text;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw usage_error(map.key(i).place(), fmt::format("{} has no key '{}'", what, shortened(key)),
                      suggestion(key, known));
  }
}

}  // namespace troupe
