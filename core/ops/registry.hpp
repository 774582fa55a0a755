// The kinds of ops a graph may use, by name.
#pragma once

#include "core/base/id.hpp"
#include "core/ops/op_kind.hpp"

#include <string_view>
#include <vector>

namespace troupe {

class OpRegistry {
 public:
  // `kind.name` must outlive the registry, be new to it, and type and work be set.
  OpKindId add(OpKind kind);
  // None where there is no such kind.
  OpKindId find(std::string_view name) const;
  const OpKind& operator[](OpKindId id) const { return kinds_[id.index()]; }
  std::size_t size() const { return kinds_.size(); }
  std::vector<std::string_view> names() const;

 private:
  std::vector<OpKind> kinds_;
};

// uniform, zeros, matmul, add, sub, mul, scale, relu, copy, spin, sleep, fail.
// Copy it to add kinds of your own.
const OpRegistry& builtin_ops();

}  // namespace troupe
