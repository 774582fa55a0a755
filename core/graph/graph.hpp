// The computation: ops in the order they were appended, each making one immutable tensor.
#pragma once

#include "core/base/error.hpp"
#include "core/base/id.hpp"
#include "core/base/prefault.hpp"
#include "core/base/sliding_vector.hpp"
#include "core/ops/registry.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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

// What may be said of an op besides its inputs.
struct OpTemplate {
  OpKindId kind;
  Placement placement = {};
  Attrs attrs = {};          // empty: every attribute takes its fallback
  TensorType declared = {};  // for kinds with declares_type
};
struct OpSpec {
  OpKindId kind;
  std::span<const OpId> inputs = {};
  Placement placement = {};
  Attrs attrs = {};
  TensorType declared = {};
};

using OpTemplateId = Id<struct OpTemplateTag>;

// Ops of one form that take inputs of the same types: all is known of them but which tensors they
// read.
struct OpClass {
  OpTemplateId op_template;
  OpKindId kind;
  std::uint32_t attrs = 0;  // index of the attributes, see Graph::attrs_index
  std::uint32_t type = 0;   // of Graph::types, what it makes
  Placement placement = {};
  Work work = {};
  std::vector<std::uint32_t> input_types = {};  // of Graph::types
};

// Append-only: ops may be added while earlier ones run, nothing is ever changed, and an op's inputs
// are older than it, so there is no cycle. 8 bytes an op and 4 an input: all else is stored once
// for each class. The oldest ops may be forgotten; ids go on, to 2^32 - 2. Not safe for concurrent
// writers.
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

  // The same in two steps, for many ops of one form: only their inputs are looked at op by op.
  OpTemplateId add_template(const OpTemplate& op_template);
  OpId append(OpTemplateId op_template, std::span<const OpId> inputs);
  // Makes room for so many more ops and inputs at once. While the result lives, a second thread
  // populates that room; no more than that may be appended meanwhile.
  [[nodiscard]] Prefault reserve(std::size_t ops, std::size_t inputs);

  // Ops before `first` are no longer asked for, and no op appended from now on reads them: frees
  // what is held for them, in bulk. Their names, groups and classes stay. `first` is at most
  // OpId::at(size()); nothing happens where it is forgotten already.
  void forget_before(OpId first);

  // Ops ever appended.
  std::size_t size() const { return rows_.size(); }
  // The oldest op that is not forgotten; OpId::at(size()) where there is none. Of older ones only
  // name() and group_of() may be asked.
  OpId first() const { return OpId::at(rows_.first()); }
  const OpRegistry& kinds() const { return *ops_; }
  OpKindId kind_id(OpId op) const { return op_class(op).kind; }
  const OpKind& kind(OpId op) const { return (*ops_)[kind_id(op)]; }
  std::span<const OpId> inputs(OpId op) const {
    const std::uint32_t begin = rows_[op.index()].first_input;
    const std::uint32_t end = first_input(op.index() + 1);
    return inputs_.slice(index_from(inputs_.first(), begin), end - begin);
  }
  const TensorType& type(OpId op) const { return types_[type_index(op)]; }
  const Attrs& attrs(OpId op) const { return attrs_[attrs_index(op)]; }
  const Placement& placement(OpId op) const { return op_class(op).placement; }
  const Work& work(OpId op) const { return op_class(op).work; }
  // Every distinct type, as type_index() counts them.
  std::span<const TensorType> types() const { return types_; }

  // Ops with equal indices have equal types, attributes or classes.
  std::uint32_t type_index(OpId op) const { return class_types_[class_index(op)]; }
  std::uint32_t attrs_index(OpId op) const { return op_class(op).attrs; }
  std::uint32_t class_index(OpId op) const { return rows_[op.index()].op_class; }
  const OpClass& op_class(OpId op) const { return classes_[class_index(op)]; }
  std::span<const OpClass> classes() const { return classes_; }

  std::size_t group_count() const { return groups_.size(); }
  const Group& group(GroupId g) const { return groups_[g.index()]; }
  GroupId group_of(OpId op) const;
  GroupId find_group(std::string_view name) const;
  std::string name(OpId op) const;  // "run[3]"

 private:
  struct OpRow {
    // The lower half of an index: in all there may be more, but append() keeps fewer at once.
    std::uint32_t first_input;
    std::uint32_t op_class;
  };
  struct TemplateRow {
    OpKindId kind;
    std::uint32_t attrs;
    Placement placement;
    TensorType declared;
    std::vector<std::uint32_t> recent = {};  // classes, a few, the one used last at the end
  };

  // Of a row or of the one to come.
  std::uint32_t first_input(std::size_t row) const {
    return row < rows_.size() ? rows_[row].first_input : static_cast<std::uint32_t>(inputs_.size());
  }

  [[noreturn]] void refuse_input(OpId input) const;
  bool takes(const OpClass& op_class, std::span<const OpId> inputs) const;
  std::uint32_t find_class(OpTemplateId op_template, std::span<const OpId> inputs);
  std::uint32_t find_older_class(OpTemplateId op_template, std::span<const OpId> inputs);
  std::uint32_t find_by_hash(OpTemplateId op_template, std::span<const OpId> inputs);
  std::uint32_t add_class(OpTemplateId op_template, std::span<const OpId> inputs);

  const OpRegistry* ops_;
  SlidingVector<OpRow> rows_;
  SlidingVector<OpId> inputs_;
  std::vector<OpClass> classes_;
  std::vector<std::uint32_t> class_types_;  // what they make, once more
  // By form and input types. Without it, a stream whose ops are of more classes in turn than are
  // looked back at would add to them for ever.
  std::unordered_multimap<std::uint64_t, std::uint32_t> classes_by_hash_;
  std::vector<TemplateRow> templates_;
  std::vector<TensorType> types_;
  std::vector<Attrs> attrs_;
  std::vector<Group> groups_;
};

}  // namespace troupe
