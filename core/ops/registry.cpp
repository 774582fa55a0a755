#include "core/ops/registry.hpp"

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/ops/builtin.hpp"

#include <algorithm>
#include <set>
#include <utility>

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

}  // namespace

OpKindId OpRegistry::add(OpKind kind) {
  if (kind.name.empty() || find(kind.name)) {
    throw usage_error(kind.name.empty()
                          ? "an op kind has no name"
                          : fmt::format("there is an op kind '{}' already", kind.name),
                      "give it another name");
  }
  check_names(kind, "further outputs", kind.further_outputs);
  check_names(kind, "attributes", kind.attrs);
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
