#include "apps/troupe/command_parts.hpp"
#include "apps/troupe/commands.hpp"
#include "core/base/units.hpp"
#include "core/config/task.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// As a run file has it.
std::string text_of(const Attr& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Duration>) {
          return format_duration(v);
        } else if constexpr (std::is_same_v<T, Integers> || std::is_same_v<T, Numbers> ||
                             std::is_same_v<T, Texts>) {
          return fmt::format("[{}]", fmt::join(v, ", "));
        } else if constexpr (std::is_same_v<T, std::string>) {
          return v.empty() ? "''" : v;
        } else if constexpr (std::is_arithmetic_v<T>) {
          return fmt::format("{}", v);
        } else {
          return std::string(type_name(v));
        }
      },
      value);
}

std::string text_of(const AttrSpec& spec) {
  if (!spec.choices.empty()) {
    const std::string choices = fmt::format("{}", fmt::join(spec.choices, " or "));
    return spec.required ? choices : fmt::format("{}; {}", choices, text_of(spec.fallback));
  }
  return spec.required ? std::string(type_name(spec.fallback)) : text_of(spec.fallback);
}

// What a task of this kind has in a run file, besides its name and place.
std::vector<std::string> keys_of(const OpKind& kind) {
  std::vector<std::string> keys;
  const auto [least, most] = kind.inputs;
  if (most > 0) {
    constexpr std::size_t any_number = 1 << 16;
    keys.push_back(least == most        ? fmt::format("in: {}", most)
                   : most >= any_number ? fmt::format("in: {} or more", least)
                                        : fmt::format("in: {} to {}", least, most));
  }
  if (kind.declares_type) keys.emplace_back("shape, dtype");
  for (const AttrSpec& spec : kind.attrs) {
    keys.push_back(fmt::format("{}: {}", spec.name, text_of(spec)));
  }
  for (const FurtherOutput& output : kind.further_outputs) {
    keys.push_back(fmt::format("makes .{}", output.name));
  }
  return keys;
}

}  // namespace

int ops_command(const std::vector<std::string>& libraries) {
  const OpRegistry ops = ops_with(libraries);
  std::size_t width = 0;
  const std::vector<std::string_view> names = task_kinds(ops);
  for (const std::string_view name : names) width = std::max(width, name.size());
  std::string text;
  for (const std::string_view name : names) {
    const OpKind& kind = ops[ops.find(name)];
    text += fmt::format("{:{}}  {}\n", name, width, kind.summary);
    const std::vector<std::string> keys = keys_of(kind);
    if (!keys.empty()) text += fmt::format("{:{}}  {}\n", "", width, fmt::join(keys, "    "));
  }
  print(text);
  return exit_done;
}

}  // namespace troupe
