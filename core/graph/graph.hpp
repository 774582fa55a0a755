// The computation: ops in the order they were appended, each making one immutable tensor.
#pragma once

#include "core/base/error.hpp"
#include "core/base/id.hpp"
#include "core/ops/registry.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// Where an op runs (a device), or where a copy ends (a memory). Empty: the planner chooses.
struct Placement {
  DeviceId device = {};
  MemoryId memory = {};
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Ops that belong together under one name: "run" stands for run[0] … run[n-1].
struct Group {
  std::string name;
  OpId first;
  std::uint32_t count = 0;
  bool indexed = false;  // whether its ops are called name[i] rather than name
  SourcePlace place;     // where the user wrote it
};

struct OpSpec {
  OpKindId kind;
  std::span<const OpId> inputs = {};
  Placement placement = {};
  Attrs attrs = {};          // empty: every attribute takes its fallback
  TensorType declared = {};  // for kinds with declares_type
};

// Append-only: ops may be added while earlier ones run, nothing is ever changed or taken away, and
// an op's inputs are older than it, so there is no cycle. About 28 bytes an op and 4 an input:
// types and attributes are stored once for each distinct value. Not safe for concurrent writers.
class Graph {
 public:
  // `ops` must outlive the graph.
  explicit Graph(const OpRegistry& ops = builtin_ops()) : ops_(&ops) {}

  // Opens a group: ops appended from now on belong to it.
  GroupId begin_group(std::string name, bool indexed = false, SourcePlace place = {});

  // Checks number of inputs, attributes and shapes; throws a usage Error with the open group's
  // place. The kind decides the output's type. Needs an open group. `op.inputs` may be those of
  // another op of this graph.
  OpId append(const OpSpec& op);

  std::size_t size() const { return ops_table_.size(); }
  const OpRegistry& kinds() const { return *ops_; }
  OpKindId kind_id(OpId op) const { return OpKindId{ops_table_[op.index()].kind}; }
  const OpKind& kind(OpId op) const { return (*ops_)[kind_id(op)]; }
  std::span<const OpId> inputs(OpId op) const;
  const TensorType& type(OpId op) const { return types_[type_index(op)]; }
  const Attrs& attrs(OpId op) const { return attrs_[attrs_index(op)]; }
  const Placement& placement(OpId op) const {
    return placements_[ops_table_[op.index()].placement];
  }
  Work work(OpId op) const;
  // Every distinct type, as type_index() counts them.
  std::span<const TensorType> types() const { return types_; }

  // Ops with equal indices have equal types or attributes.
  std::uint32_t type_index(OpId op) const { return ops_table_[op.index()].type; }
  std::uint32_t attrs_index(OpId op) const { return ops_table_[op.index()].attrs; }

  std::size_t group_count() const { return groups_.size(); }
  const Group& group(GroupId g) const { return groups_[g.index()]; }
  GroupId group_of(OpId op) const;
  GroupId find_group(std::string_view name) const;
  std::string name(OpId op) const;  // "run[3]"

 private:
  struct OpRow {
    std::uint32_t first_input;
    std::uint32_t type;
    std::uint32_t attrs;
    std::uint32_t placement;
    std::uint16_t kind;
  };

  const OpRegistry* ops_;
  std::vector<OpRow> ops_table_;
  std::vector<OpId> inputs_;
  std::vector<TensorType> types_;
  std::vector<Attrs> attrs_;
  std::vector<Placement> placements_;
  std::vector<Group> groups_;
};

}  // namespace troupe
