#include "core/ops/op_kind.hpp"

#include "core/base/error.hpp"
#include "core/base/exact_double.hpp"
#include "core/base/suggest.hpp"
#include "core/base/units.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

void check_integer(const OpKind& kind, const AttrSpec& spec, std::int64_t value) {
  if (value >= spec.value_min && value <= spec.value_max) return;
  throw usage_error(fmt::format("'{}' of '{}' is {}", spec.name, kind.name, value),
                    fmt::format("it goes from {} to {}", spec.value_min, spec.value_max));
}

void check_choice(const OpKind& kind, const AttrSpec& spec, const std::string& text) {
  const auto& choices = spec.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end()) return;
  throw usage_error(fmt::format("'{}' of '{}' is '{}'", spec.name, kind.name, text),
                    suggestion(text, choices));
}

double as_double(const OpKind& kind, const AttrSpec& spec, std::int64_t value) {
  if (const std::optional<double> number = exact_double(value)) return *number;
  throw usage_error(fmt::format("'{}' of '{}' is {}", spec.name, kind.name, value),
                    "it must be a number that float64 holds exactly");
}

// `value` with the type of the attribute, and in its range.
Attr checked(const OpKind& kind, const AttrSpec& spec, const Attr& value) {
  const auto* const integer = std::get_if<std::int64_t>(&value);
  if (integer != nullptr && std::holds_alternative<double>(spec.fallback)) {
    return as_double(kind, spec, *integer);
  }
  if (const auto* const list = std::get_if<Integers>(&value);
      list != nullptr && std::holds_alternative<Numbers>(spec.fallback)) {
    Numbers numbers;
    for (const std::int64_t n : *list) numbers.push_back(as_double(kind, spec, n));
    return numbers;
  }
  if (value.index() != spec.fallback.index()) {
    throw usage_error(fmt::format("'{}' of '{}' is {}", spec.name, kind.name, type_name(value)),
                      fmt::format("it must be {}", type_name(spec.fallback)));
  }
  if (integer != nullptr) check_integer(kind, spec, *integer);
  if (const auto* list = std::get_if<Integers>(&value)) {
    for (const std::int64_t n : *list) check_integer(kind, spec, n);
  }
  if (const auto* text = std::get_if<std::string>(&value)) check_choice(kind, spec, *text);
  if (const auto* list = std::get_if<Texts>(&value)) {
    for (const std::string& text : *list) check_choice(kind, spec, text);
  }
  return value;
}

void check_names(const OpKind& kind, const Attrs& given) {
  std::vector<std::string_view> names;
  for (const AttrSpec& spec : kind.attrs) names.push_back(spec.name);
  std::set<std::string_view> seen;
  for (const Attrs::Entry& entry : given.entries()) {
    if (std::find(names.begin(), names.end(), entry.name) == names.end()) {
      throw usage_error(fmt::format("'{}' has no attribute '{}'", kind.name, entry.name),
                        suggestion(entry.name, names));
    }
    if (seen.insert(entry.name).second) continue;
    throw usage_error(fmt::format("'{}' of '{}' is given twice", entry.name, kind.name),
                      "give it once");
  }
}

void check_input_count(const OpKind& kind, std::size_t count) {
  const auto [min, max] = kind.inputs;
  if (count >= min && count <= max) return;
  const std::string wanted =
      min == max ? format_count(min, "input") : fmt::format("{} to {} inputs", min, max);
  throw usage_error(fmt::format("'{}' takes {}, and {} {} given", kind.name, wanted, count,
                                count == 1 ? "is" : "are"),
                    fmt::format("give it {}", wanted));
}

// A program may make a DType of any number.
void check_dtype(const OpKind& kind, const TensorType& type) {
  const auto number = static_cast<std::size_t>(type.dtype);
  if (number < dtype_names.size()) return;
  throw usage_error(fmt::format("'{}' is to make a tensor of DType({})", kind.name, number),
                    fmt::format("its type is one of: {}", fmt::join(dtype_names, ", ")));
}

// Refuses integers where the kind takes only floating-point numbers.
void check_element_types(const OpKind& kind, const OpSignature& op) {
  if (kind.takes_integers) return;
  if (kind.declares_type && is_integer(op.declared.dtype)) {
    throw usage_error(
        fmt::format("'{}' can't make {}, only {} and {}", kind.name, to_string(op.declared.dtype),
                    to_string(DType::f32), to_string(DType::f64)),
        "declare one of these");
  }
  for (const TensorType& input : op.inputs) {
    if (!is_integer(input.dtype)) continue;
    std::vector<std::string> types;
    for (const TensorType& t : op.inputs) types.push_back(to_string(t));
    throw usage_error(fmt::format("'{}' takes tensors of {} and {}, and {} {} given", kind.name,
                                  to_string(DType::f32), to_string(DType::f64),
                                  fmt::join(types, ", "), types.size() == 1 ? "is" : "are"),
                      "give it tensors of one of these types");
  }
}

// What a function of the kind returns. What it throws becomes an Error that names it, unless it is
// one.
template <class Function>
auto result_of(const OpKind& kind, std::string_view what, const Function& function) {
  try {
    return function();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw run_error(fmt::format("{} of '{}' asks for more memory than there is", what, kind.name),
                    "see what it does with these inputs and attributes");
  } catch (const std::exception& error) {
    throw usage_error(fmt::format("{} of '{}' failed: {}", what, kind.name, error.what()),
                      "see what it does with these inputs and attributes");
  } catch (...) {
    throw usage_error(
        fmt::format("{} of '{}' threw something that is no std::exception", what, kind.name),
        "throw a std::exception");
  }
}

// An impossible Shape is an Error with the rule's own line: the caller adds that of the op.
TensorType apply_rule(const OpKind& kind, TensorType (*rule)(const OpSignature&),
                      const OpSignature& op) {
  try {
    const TensorType made = result_of(kind, "the shape rule", [&] { return rule(op); });
    check_dtype(kind, made);
    return made;
  } catch (const Error& error) {
    throw Error(error.kind(), {}, error.problem(), error.remedy());
  }
}

}  // namespace

Error unfit_inputs(std::span<const TensorType> inputs, std::string remedy) {
  std::string problem = inputs.size() == 1 ? "the input is " : "the inputs are ";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) problem += i + 1 < inputs.size() ? ", " : " and ";
    problem += to_string(inputs[i]);
  }
  return usage_error(std::move(problem), std::move(remedy));
}

TensorType common_type(const OpSignature& op) {
  if (op.inputs.empty()) return op.declared;
  for (const TensorType& input : op.inputs) {
    if (input != op.inputs[0]) {
      throw unfit_inputs(op.inputs, "they must have the same type and shape");
    }
  }
  return op.inputs[0];
}

Work streaming_work(const OpSignature& op, const TensorType& output, double flops_per_element) {
  Work work;
  work.flops = flops_per_element * static_cast<double>(output.shape.elements());
  work.bytes = static_cast<double>(output.bytes());
  for (const TensorType& input : op.inputs) work.bytes += static_cast<double>(input.bytes());
  return work;
}

Attrs complete_attrs(const OpKind& kind, const Attrs& given) {
  Attrs attrs;
  std::size_t used = 0;
  for (const AttrSpec& spec : kind.attrs) {
    const Attr* const value = given.find(spec.name);
    if (value == nullptr && spec.required) {
      check_names(kind, given);  // it may be misspelt
      throw usage_error(fmt::format("'{}' needs '{}'", kind.name, spec.name), "give it");
    }
    attrs.set(spec.name, value == nullptr ? spec.fallback : checked(kind, spec, *value));
    if (value != nullptr) ++used;
  }
  if (used != given.entries().size()) check_names(kind, given);
  if (kind.prepare != nullptr) {
    attrs.set_prepared(result_of(kind, "`prepare`", [&] { return kind.prepare(attrs); }));
  }
  return attrs;
}

TensorType output_type(const OpKind& kind, const OpSignature& op) {
  check_input_count(kind, op.inputs.size());
  check_dtype(kind, op.declared);
  check_element_types(kind, op);
  return apply_rule(kind, kind.type, op);
}

std::vector<TensorType> output_types(const OpKind& kind, const OpSignature& op) {
  std::vector<TensorType> types = {output_type(kind, op)};
  for (const FurtherOutput& output : kind.further_outputs) {
    types.push_back(apply_rule(kind, output.type, op));
  }
  return types;
}

Work work_of(const OpKind& kind, const OpSignature& op, std::span<const TensorType> outputs) {
  Work work = result_of(kind, "the cost", [&] { return kind.work(op, outputs.front()); });
  for (const TensorType& type : outputs.subspan(1)) work.bytes += static_cast<double>(type.bytes());
  for (const auto& [what, amount] : {std::pair("floating-point operations", work.flops),
                                     std::pair("bytes that it moves", work.bytes)}) {
    if (amount >= 0 && std::isfinite(amount)) continue;
    throw usage_error(fmt::format("the cost of '{}' has {} {}", kind.name, amount, what),
                      "costs are numbers from 0 up");
  }
  if (work.fixed < Duration{0} || work.fixed > longest_duration) {
    throw usage_error(
        fmt::format("'{}' takes {} s", kind.name, seconds(work.fixed)),
        fmt::format("the time of an op goes from 0 to {}", format_duration(longest_duration)));
  }
  return work;
}

std::shared_ptr<const std::byte> existing_of(const OpKind& kind, const Attrs& attrs) {
  return result_of(kind, "`existing`", [&] { return kind.existing(attrs); });
}

}  // namespace troupe
