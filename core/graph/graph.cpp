#include "core/graph/graph.hpp"

#include "core/base/assert.hpp"
#include "core/base/random.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// A search for an equal entry compares at most this many entries, newest first. Ops appended in a
// row are mostly alike and match the newest entries; the limit keeps appending fast in a table of
// many different entries.
constexpr std::size_t lookback = 16;
std::size_t oldest_to_compare(std::size_t entries) {
  return entries > lookback ? entries - lookback : 0;
}

// Returns the index of `value` in `table`. Appends `value` if the last `lookback` entries differ.
template <class Table>
std::uint32_t intern(Table& table, const typename Table::value_type& value) {
  for (std::size_t i = table.size(); i-- > oldest_to_compare(table.size());) {
    if (table[i] == value) return static_cast<std::uint32_t>(i);
  }
  table.push_back(value);
  return static_cast<std::uint32_t>(table.size() - 1);
}

}  // namespace

GroupId Graph::begin_group(std::string name, bool indexed, SourcePlace place) {
  groups_.push_back(Group{.name = std::move(name),
                          .first = OpId::at(size()),
                          .count = 0,
                          .indexed = indexed,
                          .place = std::move(place)});
  return GroupId::at(groups_.size() - 1);
}

OpId Graph::append(const OpSpec& op) {
  return append(add_template({op.kind, op.placement, op.attrs, op.declared}), op.inputs);
}

OpTemplateId Graph::add_template(const OpTemplate& op_template) {
  if (groups_.empty()) throw usage_error("no group is open for an op", "call begin_group() first");
  if (op_template.kind.index() >= ops_->size()) {
    throw usage_error(groups_.back().place, "an op has a kind that isn't in the graph's registry",
                      "find it by name: kinds().find(), which returns none if there is none");
  }
  const OpKind& kind = (*ops_)[op_template.kind];
  try {
    const std::uint32_t attrs =
        intern(attrs_, AttrsRow{op_template.kind, complete_attrs(kind, op_template.attrs)});
    for (std::size_t i = templates_.size(); i-- > oldest_to_compare(templates_.size());) {
      const TemplateRow& known = templates_[i];
      if (known.kind == op_template.kind && known.attrs == attrs &&
          known.placement == op_template.placement && known.declared == op_template.declared) {
        return OpTemplateId::at(i);
      }
    }
    templates_.push_back({op_template.kind, attrs, op_template.placement, op_template.declared});
    return OpTemplateId::at(templates_.size() - 1);
  } catch (const Error& error) {
    throw error.at(groups_.back().place);
  }
}

// Whether all inputs exist, are not forgotten, and have the types that the class takes.
inline bool Graph::takes(const OpClass& op_class, std::span<const OpId> inputs) const {
  if (op_class.input_types.size() != inputs.size()) return false;
  bool fits = true;
  const std::uint32_t* type = op_class.input_types.data();
  for (const OpId input : inputs) {
    if (!rows_.holds(input.index())) return false;
    fits &= class_types_[class_index(input)] == *type++;
  }
  return fits;
}

inline std::uint32_t Graph::find_class(OpTemplateId op_template, std::span<const OpId> inputs) {
  const std::vector<std::uint32_t>& recent = templates_[op_template.index()].recent;
  if (!recent.empty() && takes(classes_[recent.back()], inputs)) return recent.back();
  return find_older_class(op_template, inputs);
}

OpId Graph::append(OpTemplateId op_template, std::span<const OpId> inputs) {
  TROUPE_ASSERT(!groups_.empty());
  TROUPE_ASSERT(size() < OpId::none_value);
  TROUPE_ASSERT(inputs_.size() - inputs_.first() + inputs.size() <=
                std::numeric_limits<std::uint32_t>::max());
  const std::uint32_t op_class = find_class(op_template, inputs);
  if (makes_several_) set_outputs(op_class);
  const auto first_input = static_cast<std::uint32_t>(inputs_.size());
  inputs_.append(inputs);
  rows_.push_back({first_input, op_class});
  ++groups_.back().count;
  const OpId op = OpId::at(size() - 1);
  if (makes_several_) append_further_outputs(op);
  return op;
}

// An op of this class is to be appended.
[[gnu::noinline]] void Graph::set_outputs(std::uint32_t op_class) {
  Group& group = groups_.back();
  const std::uint32_t outputs = 1U + classes_[op_class].further;
  if (group.name.empty() || group.outputs == outputs) return;
  if (group.count > 0) {
    throw usage_error(
        group.place,
        fmt::format("each op of group '{}' makes {}, and '{}' makes {}", group.name,
                    format_count(group.outputs, "tensor"), (*ops_)[classes_[op_class].kind].name,
                    format_count(outputs, "tensor")),
        "begin another group for it");
  }
  group.outputs = outputs;
}

[[gnu::noinline]] void Graph::append_further_outputs(OpId op) {
  const std::uint32_t op_class = class_index(op);
  Group& group = groups_.back();
  const std::uint32_t further = classes_[op_class].further;
  for (std::uint32_t k = 1; k <= further; ++k) {
    const auto first_input = static_cast<std::uint32_t>(inputs_.size());
    inputs_.push_back(op);
    rows_.push_back({first_input, op_class + k});
    ++group.count;
  }
}

Prefault Graph::reserve(std::size_t ops, std::size_t inputs) {
  rows_.reserve(ops);
  inputs_.reserve(inputs);
  return Prefault({rows_.unfilled(), inputs_.unfilled()});
}

void Graph::forget_before(OpId first) {
  TROUPE_ASSERT(first.index() <= size());
  if (first.index() <= rows_.first()) return;
  inputs_.forget_before(index_from(inputs_.first(), first_input(first.index())));
  rows_.forget_before(first.index());
}

void Graph::refuse_input(OpId input) const {
  if (input.index() >= size()) {
    throw usage_error(groups_.back().place, "an op has an input that isn't an op of the graph",
                      "append the ops that it needs first, and give what append() has returned");
  }
  throw usage_error(groups_.back().place,
                    fmt::format("'{}' can't be read any more: it was forgotten", name(input)),
                    "say that it is still needed while it is");
}

std::uint32_t Graph::find_older_class(OpTemplateId op_template, std::span<const OpId> inputs) {
  for (const OpId input : inputs) {
    if (!rows_.holds(input.index())) refuse_input(input);
  }
  std::vector<std::uint32_t>& recent = templates_[op_template.index()].recent;
  for (std::size_t i = recent.size(); i-- > 0;) {
    if (!takes(classes_[recent[i]], inputs)) continue;
    std::swap(recent[i], recent.back());
    return recent.back();
  }
  if (recent.size() == lookback) recent.erase(recent.begin());
  recent.push_back(find_by_hash(op_template, inputs));
  return recent.back();
}

std::uint32_t Graph::find_by_hash(OpTemplateId op_template, std::span<const OpId> inputs) {
  std::uint64_t hash = op_template.value;
  for (const OpId input : inputs) hash = mix(hash ^ type_index(input));
  const auto [begin, end] = classes_by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const OpClass& known = classes_[at->second];
    if (known.op_template == op_template && takes(known, inputs)) return at->second;
  }
  const std::uint32_t added = add_class(op_template, inputs);
  classes_by_hash_.emplace(hash, added);
  return added;
}

std::uint32_t Graph::add_class(OpTemplateId op_template, std::span<const OpId> inputs) {
  const TemplateRow& row = templates_[op_template.index()];
  const OpKind& kind = (*ops_)[row.kind];
  OpClass op_class{
      .op_template = op_template, .kind = row.kind, .attrs = row.attrs, .placement = row.placement};
  std::vector<std::uint32_t> types;  // of all outputs
  std::vector<TensorType> input_types;
  for (const OpId input : inputs) {
    op_class.input_types.push_back(type_index(input));
    input_types.push_back(type(input));
  }
  try {
    OpSignature op{
        .inputs = input_types, .attrs = attrs_[row.attrs].attrs, .declared = row.declared};
    const std::vector<TensorType> made = output_types(kind, op);
    op.declared = made.front();
    op_class.work = work_of(kind, op, made);
    for (const TensorType& type : made) types.push_back(intern(types_, type));
  } catch (const Error& error) {
    throw error.at(groups_.back().place);
  } catch (const std::exception& error) {  // of a user's rule
    throw usage_error(groups_.back().place, fmt::format("{}: {}", kind.name, error.what()), {});
  }
  const auto added = static_cast<std::uint32_t>(classes_.size());
  op_class.type = types.front();
  op_class.further = static_cast<std::uint16_t>(types.size() - 1);
  makes_several_ = makes_several_ || op_class.further > 0;
  class_types_.push_back(op_class.type);
  classes_.push_back(op_class);
  op_class.input_types = {types.front()};
  op_class.work = {};
  op_class.further = 0;
  for (std::size_t k = 1; k < types.size(); ++k) {
    op_class.type = types[k];
    op_class.output = static_cast<std::uint16_t>(k);
    class_types_.push_back(op_class.type);
    classes_.push_back(op_class);
  }
  return added;
}

GroupId Graph::group_of(OpId op) const {
  TROUPE_ASSERT(op.index() < size());
  // The last group that starts at or before the op. An empty group starts where the next one does.
  const auto after = std::upper_bound(groups_.begin(), groups_.end(), op,
                                      [](OpId wanted, const Group& g) { return wanted < g.first; });
  return GroupId::at(static_cast<std::size_t>(after - groups_.begin()) - 1);
}

GroupId Graph::find_group(std::string_view name) const {
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].name == name) return GroupId::at(i);
  }
  return GroupId::none();
}

std::uint32_t Graph::index_in_group(OpId op) const {
  const Group& g = group(group_of(op));
  const std::uint32_t place = op.value - g.first.value;
  if (!g.name.empty()) return place / g.outputs;
  return op >= first() ? place - output_number(op) : place;
}

std::string Graph::name(OpId op) const {
  const Group& g = group(group_of(op));
  const std::uint32_t k = op >= first() ? output_number(op) : 0;
  std::string name = g.name.empty() ? std::string(kind(op).name) : g.name;
  if (k > 0) name += fmt::format(".{}", kind(op).further_outputs[k - 1].name);
  return g.indexed || g.name.empty() ? fmt::format("{}[{}]", name, index_in_group(op)) : name;
}

}  // namespace troupe
