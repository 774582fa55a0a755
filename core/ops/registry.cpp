#include "core/ops/registry.hpp"

#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/units.hpp"
#include "core/ops/builtin.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace troupe {
namespace {

// Throws a usage Error unless each of these has a name of its own.
template <class Named>
void check_names(const OpKind& kind, std::string_view what, const std::vector<Named>& all) {
  std::set<std::string_view> names = {""};
  for (const Named& one : all) {
    if (names.insert(one.name).second) continue;
    throw usage_error(fmt::format("two {} of '{}' have one name, or one has none", what, kind.name),
                      "name each");
  }
}

// What run files can't say, or no user could have meant.
void check_words(const OpKind& kind) {
  for (const FurtherOutput& output : kind.further_outputs) {
    if (output.name.find('.') == std::string_view::npos) continue;
    throw usage_error(
        fmt::format("the output '{}' of '{}' has a dot in its name", output.name, kind.name),
        "run files write task.output: leave the dot out");
  }
  for (const AttrSpec& attr : kind.attrs) {
    for (const std::string_view taken : {"op", "in", "on", "to", "repeat"}) {
      if (attr.name != taken) continue;
      throw usage_error(fmt::format("'{}' has an attribute '{}', which is a word of run files",
                                    kind.name, attr.name),
                        "give it another name");
    }
    const auto* const number = std::get_if<std::int64_t>(&attr.fallback);
    if (number != nullptr && !attr.required &&
        (*number < attr.value_min || *number > attr.value_max)) {
      throw usage_error(
          fmt::format("'{}' of '{}' is {} where nothing is said, and goes from {} to {}", attr.name,
                      kind.name, *number, attr.value_min, attr.value_max),
          "set value_min and value_max, or another fallback");
    }
    const auto* const text = std::get_if<std::string>(&attr.fallback);
    if (text == nullptr || attr.required || attr.choices.empty()) continue;
    if (std::ranges::find(attr.choices, *text) != attr.choices.end()) continue;
    throw usage_error(fmt::format("'{}' of '{}' is '{}' where nothing is said, which is none of {}",
                                  attr.name, kind.name, *text, fmt::join(attr.choices, ", ")),
                      "make the fallback one of the choices");
  }
}

}  // namespace

OpKindId OpRegistry::add(OpKind kind) {
  if (kind.name.empty() || find(kind.name)) {
    throw usage_error(kind.name.empty()
                          ? "an op kind has no name"
                          : fmt::format("there is an op kind '{}' already", kind.name),
                      "give it another name");
  }
  if (!kind.is_given && !is_identifier(kind.name)) {  // nobody names what is given
    throw usage_error(fmt::format("an op kind can't be named '{}'", shortened(kind.name)),
                      "begin with a letter or _, then use letters, digits, '_', '.' and '-'");
  }
  check_names(kind, "further outputs", kind.further_outputs);
  check_names(kind, "attributes", kind.attrs);
  check_words(kind);
  if (kind.moves_data && kind.name != "copy") {
    throw usage_error(fmt::format("'{}' moves data, as copy does", kind.name),
                      "leave `moves_data` out, and call copy");
  }
  if (!kind.further_outputs.empty() && (kind.moves_data || kind.is_given)) {
    throw usage_error(fmt::format("'{}', which no device computes, has further outputs", kind.name),
                      "leave them out");
  }
  if (kind.further_outputs.size() > OpKind::further_outputs_max) {
    throw usage_error(
        fmt::format("'{}' has {} further outputs", kind.name, kind.further_outputs.size()),
        fmt::format("an op has at most {}", OpKind::further_outputs_max));
  }
  const auto has_no_rule = [](const FurtherOutput& output) { return output.type == nullptr; };
  if (kind.type == nullptr || kind.work == nullptr ||
      std::ranges::any_of(kind.further_outputs, has_no_rule)) {
    throw usage_error(fmt::format("'{}' has no shape rule, or no cost", kind.name),
                      "set `type` and `work`, or leave them out for the defaults");
  }
  if (kind.inputs.min > kind.inputs.max) {
    throw usage_error(
        fmt::format("'{}' takes {} to {} inputs", kind.name, kind.inputs.min, kind.inputs.max),
        "give the least number first");
  }
  if (kind.in_place_of && *kind.in_place_of >= kind.inputs.min) {
    throw usage_error(fmt::format("'{}' computes in place of input {}, and may get {}", kind.name,
                                  *kind.in_place_of, format_count(kind.inputs.min, "input")),
                      "inputs count from 0");
  }
  kinds_.push_back(std::move(kind));
  return OpKindId::at(kinds_.size() - 1);
}

OpKindId OpRegistry::find(std::string_view name) const {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].name == name) return OpKindId::at(i);
  }
  return OpKindId::none();
}

std::vector<std::string_view> OpRegistry::names() const {
  std::vector<std::string_view> names;
  names.reserve(kinds_.size());
  for (const OpKind& kind : kinds_) names.push_back(kind.name);
  return names;
}

const OpRegistry& builtin_ops() {
  static const OpRegistry registry = [] {
    OpRegistry r;
    for (OpKind (*const make)() : builtin_kinds) r.add(make());
    return r;
  }();
  return registry;
}

}  // namespace troupe
