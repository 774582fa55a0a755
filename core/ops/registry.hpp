// The op kinds that a graph may use, by name.
#pragma once

#include "core/base/id.hpp"
#include "core/ops/op_kind.hpp"

#include <string_view>
#include <vector>

namespace troupe {

class OpRegistry {
 public:
  // `kind.name`, and the names of attributes and further outputs, must outlive the registry. Throws
  // a usage Error if a name is empty or taken, a function that must be there is null, or there are
  // too many further outputs.
  OpKindId add(OpKind kind);
  // Returns none if there is no kind of this name.
  OpKindId find(std::string_view name) const;
  const OpKind& operator[](OpKindId id) const { return kinds_[id.index()]; }
  std::size_t size() const { return kinds_.size(); }
  std::vector<std::string_view> names() const;

 private:
  std::vector<OpKind> kinds_;
};

// The op kinds that come with Troupe: those of builtin.hpp. To use other kinds as well, copy the
// registry and add them to the copy.
const OpRegistry& builtin_ops();

}  // namespace troupe
