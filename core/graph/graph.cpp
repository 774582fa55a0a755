#include "core/graph/graph.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace troupe {
namespace {

// The index of `value` in `table`, appended where it is new. Looks at the latest entries only: runs
// of equal ops hit the last one, and a table that grew very diverse must not make appending slow.
template <class T>
std::uint32_t intern(std::vector<T>& table, const T& value) {
  constexpr std::size_t lookback = 16;
  const std::size_t oldest = table.size() > lookback ? table.size() - lookback : 0;
  for (std::size_t i = table.size(); i-- > oldest;) {
    if (table[i] == value) return static_cast<std::uint32_t>(i);
  }
  table.push_back(value);
  return static_cast<std::uint32_t>(table.size() - 1);
}

void check_input_count(const OpKind& kind, std::size_t count) {
  if (count >= kind.inputs_min && count <= kind.inputs_max) return;
  const std::string wanted =
      kind.inputs_min == kind.inputs_max
          ? fmt::format("{} input{}", kind.inputs_min, kind.inputs_min == 1 ? "" : "s")
          : fmt::format("{} to {} inputs", kind.inputs_min, kind.inputs_max);
  throw usage_error(fmt::format("'{}' takes {}, and {} {} given", kind.name, wanted, count,
                                count == 1 ? "is" : "are"),
                    fmt::format("give it {}", wanted));
}

Attrs complete_attrs(const OpKind& kind, const Attrs& given) {
  Attrs attrs;
  if (given.empty()) {
    for (const AttrSpec& spec : kind.attrs) {
      if (spec.required) {
        throw usage_error(fmt::format("'{}' needs '{}'", kind.name, spec.name), "give it");
      }
      attrs.push_back(spec.fallback);
    }
    return attrs;
  }
  TROUPE_ASSERT(given.size() == kind.attrs.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const AttrSpec& spec = kind.attrs[i];
    TROUPE_ASSERT(given[i].index() == spec.fallback.index());
    if (const auto* n = std::get_if<std::int64_t>(&given[i]); n && (*n < 0 || *n > spec.most)) {
      throw usage_error(fmt::format("'{}' of '{}' is {}", spec.name, kind.name, *n),
                        fmt::format("it goes from 0 to {}", spec.most));
    }
  }
  return given;
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
  TROUPE_ASSERT(!groups_.empty());
  const OpKind& kind = (*ops_)[op.kind];
  TensorType type;
  Attrs attrs;
  try {
    check_input_count(kind, op.inputs.size());
    attrs = complete_attrs(kind, op.attrs);
    std::array<TensorType, 8> few;
    std::vector<TensorType> many;
    std::span<TensorType> input_types(few.data(), std::min(op.inputs.size(), few.size()));
    if (op.inputs.size() > few.size()) {
      many.resize(op.inputs.size());
      input_types = many;
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      TROUPE_ASSERT(op.inputs[i].index() < size());
      input_types[i] = this->type(op.inputs[i]);
    }
    type = kind.type({.inputs = input_types, .attrs = attrs, .declared = op.declared});
  } catch (const Error& error) {
    throw error.at(groups_.back().place);
  }
  const auto first_input = static_cast<std::uint32_t>(inputs_.size());
  // They may be another op's, which move when the table grows.
  std::span<const OpId> inputs = op.inputs;
  std::vector<OpId> copied;
  if (inputs.size() > inputs_.capacity() - inputs_.size()) {
    copied.assign(inputs.begin(), inputs.end());
    inputs = copied;
  }
  for (const OpId input : inputs) inputs_.push_back(input);
  ops_table_.push_back(OpRow{.first_input = first_input,
                             .type = intern(types_, type),
                             .attrs = intern(attrs_, attrs),
                             .placement = intern(placements_, op.placement),
                             .kind = static_cast<std::uint16_t>(op.kind.value)});
  ++groups_.back().count;
  return OpId::at(size() - 1);
}

std::span<const OpId> Graph::inputs(OpId op) const {
  const std::size_t begin = ops_table_[op.index()].first_input;
  const std::size_t end =
      op.index() + 1 < size() ? ops_table_[op.index() + 1].first_input : inputs_.size();
  return {inputs_.data() + begin, end - begin};
}

Work Graph::work(OpId op) const {
  std::array<TensorType, 8> few;
  std::vector<TensorType> many;
  const auto ins = inputs(op);
  std::span<TensorType> input_types(few.data(), std::min(ins.size(), few.size()));
  if (ins.size() > few.size()) {
    many.resize(ins.size());
    input_types = many;
  }
  for (std::size_t i = 0; i < ins.size(); ++i) input_types[i] = type(ins[i]);
  return kind(op).work({.inputs = input_types, .attrs = attrs(op), .declared = type(op)}, type(op));
}

GroupId Graph::group_of(OpId op) const {
  TROUPE_ASSERT(op.index() < size());
  // The last group that starts at or before the op; empty groups share their start with the next.
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

std::string Graph::name(OpId op) const {
  const Group& g = group(group_of(op));
  return g.indexed ? fmt::format("{}[{}]", g.name, op.value - g.first.value) : g.name;
}

}  // namespace troupe
