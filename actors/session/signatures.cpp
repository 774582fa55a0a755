#include "actors/session/signatures.hpp"

#include "core/base/random.hpp"
#include "core/base/saturating.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace troupe {
namespace {

constexpr std::size_t recent_max = 8;  // for each op kind

template <class T, class Hash>
std::uint64_t hash_of_list(const std::vector<T>& list, const Hash& hash_of_one) {
  std::uint64_t hash = list.size();
  for (const T& value : list) hash = mix(hash ^ hash_of_one(value));
  return hash;
}

std::uint64_t hash_of(const Attr& attr) {
  return std::visit(
      [](const auto& value) -> std::uint64_t {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Duration>) {
          return static_cast<std::uint64_t>(value.count());
        } else if constexpr (std::is_same_v<T, double>) {
          return std::bit_cast<std::uint64_t>(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return std::hash<std::string>{}(value);
        } else if constexpr (std::is_same_v<T, Integers>) {
          return hash_of_list(value, [](std::int64_t n) { return static_cast<std::uint64_t>(n); });
        } else if constexpr (std::is_same_v<T, Numbers>) {
          return hash_of_list(value, [](double x) { return std::bit_cast<std::uint64_t>(x); });
        } else if constexpr (std::is_same_v<T, Texts>) {
          return hash_of_list(value, std::hash<std::string>{});
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const ValueSource>>) {
          return reinterpret_cast<std::uintptr_t>(value.get());
        } else {
          return static_cast<std::uint64_t>(value);
        }
      },
      attr);
}

bool equal(const OpTemplate& a, const OpTemplate& b) {
  return a.kind == b.kind && a.placement == b.placement && a.attrs == b.attrs &&
         a.declared == b.declared;
}

std::uint64_t hash_of(const OpTemplate& op_template, std::span<TensorState* const> inputs) {
  const Placement& placement = op_template.placement;
  std::uint64_t hash = mix(op_template.kind.value);
  hash = mix(hash ^ (std::uint64_t{placement.device.value} << 32 | placement.memory.value));
  for (const Attrs::Entry& entry : op_template.attrs.entries()) {
    hash = mix(hash ^ hash_of(entry.value));
  }
  hash = mix(hash ^ hash_of(op_template.declared));
  for (const TensorState* input : inputs) hash = mix(hash ^ input->type);
  return hash;
}

// The same with the kind's names, which stay: those of a call may not.
Attrs with_names_of(const OpKind& kind, const Attrs& given) {
  Attrs attrs;
  for (const Attrs::Entry& entry : given.entries()) {
    const auto spec = std::ranges::find(kind.attrs, entry.name, &AttrSpec::name);
    attrs.set(spec->name, entry.value);
  }
  return attrs;
}

}  // namespace

bool Signatures::fits(const Signature& row, const OpTemplate& op_template,
                      std::span<TensorState* const> inputs) const {
  return std::equal(
             row.inputs.begin(), row.inputs.end(), inputs.begin(), inputs.end(),
             [](std::uint32_t type, const TensorState* input) { return type == input->type; }) &&
         equal(row.op_template, op_template);
}

const Signature& Signatures::find(const OpTemplate& op_template,
                                  std::span<TensorState* const> inputs) {
  std::vector<std::uint32_t>& recent = recent_[op_template.kind.index()];
  for (std::size_t i = recent.size(); i-- > 0;) {
    if (!fits(rows_[recent[i]], op_template, inputs)) continue;
    std::swap(recent[i], recent.back());
    return rows_[recent.back()];
  }
  const std::uint64_t hash = hash_of(op_template, inputs);
  const auto [begin, end] = by_hash_.equal_range(hash);
  const auto known = std::find_if(
      begin, end, [&](const auto& row) { return fits(rows_[row.second], op_template, inputs); });
  std::uint32_t found = 0;
  if (known != end) {
    found = known->second;
  } else {
    found = add(op_template, inputs);
    by_hash_.emplace(hash, found);
  }
  if (recent.size() == recent_max) recent.erase(recent.begin());
  recent.push_back(found);
  return rows_[found];
}

void Signatures::forget() {
  for (std::vector<std::uint32_t>& rows : recent_) rows.clear();
  by_hash_.clear();
  rows_.clear();
}

std::uint32_t Signatures::add(const OpTemplate& op_template, std::span<TensorState* const> inputs) {
  Signature row{
      .number = static_cast<std::uint32_t>(rows_.size()), .op_template = op_template, .inputs = {}};
  std::vector<TensorType> types;
  for (const TensorState* input : inputs) {
    row.inputs.push_back(input->type);
    types.push_back(types_[input->type]);
    row.bytes_read = add_sat(row.bytes_read, types.back().bytes());
  }
  const OpKind& kind = ops_[op_template.kind];
  const Attrs attrs = complete_attrs(kind, op_template.attrs);
  const OpSignature op{.inputs = types, .attrs = attrs, .declared = op_template.declared};
  const std::vector<TensorType> made = output_types(kind, op);
  static_cast<void>(work_of(kind, op, made));  // refuses it at the call
  check_(op_template, made);
  row.op_template.attrs = with_names_of(kind, op_template.attrs);
  for (const TensorType& type : made) row.bytes_made = add_sat(row.bytes_made, type.bytes());
  row.output = type_number(made.front());
  row.further = static_cast<std::uint16_t>(made.size() - 1);
  const std::uint32_t added = row.number;
  const std::uint32_t first = row.output;
  rows_.push_back(std::move(row));
  for (std::size_t k = 1; k < made.size(); ++k) {
    rows_.push_back({.number = added + static_cast<std::uint32_t>(k),
                     .op_template = rows_[added].op_template,
                     .inputs = {first},
                     .output = type_number(made[k]),
                     .output_number = static_cast<std::uint16_t>(k)});
  }
  return added;
}

std::uint32_t Signatures::type_number(const TensorType& type) {
  const std::uint64_t hash = hash_of(type);
  const auto [begin, end] = types_by_hash_.equal_range(hash);
  const auto known =
      std::find_if(begin, end, [&](const auto& row) { return types_[row.second] == type; });
  if (known != end) return known->second;
  const auto added = static_cast<std::uint32_t>(types_.size());
  types_.push_back(type);
  types_by_hash_.emplace(hash, added);
  return added;
}

}  // namespace troupe
