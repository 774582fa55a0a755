// The parameters of an op, such as `alpha` of scale: values by name.
#pragma once

#include "core/base/time.hpp"
#include "core/ops/value_source.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;

// The value of a parameter.
using Attr = std::variant<bool, std::int64_t, double, Duration, std::string, Integers, Numbers,
                          Texts, std::shared_ptr<const ValueSource>>;

// "a number", "a list of whole numbers", …: the type of `value`.
std::string_view type_name(const Attr& value);

// Whether ops that differ in these values only are alike: numbers must have the same bits, so that
// 0 and -0 differ, and NaN is like itself.
bool are_alike(const Attr& a, const Attr& b);

// A parameter of an op kind. A value must have the type of `fallback`.
struct AttrSpec {
  std::string_view name;
  Attr fallback;
  bool required = false;
  // Limits of an integer, or of each integer of a list.
  std::int64_t value_min = 0;
  std::int64_t value_max = std::int64_t{1} << 40;
  std::vector<std::string_view> choices = {};  // of a string, or each of a list; empty: any string
};

// Attribute values by name. There are few of them, so a search is linear and takes nanoseconds.
class Attrs {
 public:
  struct Entry {
    std::string_view name;  // must outlive the Attrs
    Attr value;
    friend bool operator==(const Entry& a, const Entry& b) {
      return a.name == b.name && are_alike(a.value, b.value);
    }
  };

  Attrs() = default;
  Attrs(std::initializer_list<Entry> entries) : entries_(entries) {}

  // The value of this name as a T: one of the types of Attr. Throws a usage Error if there is no
  // such value, or if it has another type.
  template <class T>
  const T& get(std::string_view name) const {
    const Attr* const value = find(name);
    if (value == nullptr || !std::holds_alternative<T>(*value)) refuse(name, Attr(T{}));
    return *std::get_if<T>(value);
  }
  // Returns nullptr if there is no value of this name.
  const Attr* find(std::string_view name) const {
    for (const Entry& entry : entries_) {
      if (entry.name == name) return &entry.value;
    }
    return nullptr;
  }
  // Adds the value, or replaces the one of this name.
  void set(std::string_view name, Attr value);

  const std::vector<Entry>& entries() const { return entries_; }

  // What OpKind::prepare has returned for these values, as a T. There must be such a function, and
  // these must be the attributes of an op of a graph.
  template <class T>
  const T& prepared() const {
    return *static_cast<const T*>(prepared_.get());
  }
  void set_prepared(std::shared_ptr<const void> prepared) { prepared_ = std::move(prepared); }

  // Compares names, values and their order.
  friend bool operator==(const Attrs& a, const Attrs& b) { return a.entries_ == b.entries_; }

 private:
  [[noreturn]] void refuse(std::string_view name, const Attr& wanted) const;

  std::vector<Entry> entries_;
  std::shared_ptr<const void> prepared_;
};

}  // namespace troupe
