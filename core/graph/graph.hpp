// The computation: ops in the order they were appended, each making one immutable tensor.
#pragma once

#include "core/base/error.hpp"
#include "core/base/id.hpp"
#include "core/base/prefault.hpp"
#include "core/base/sliding_vector.hpp"
#include "core/ops/registry.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

// The device that computes an op, or the memory that a copy ends in. Empty: the planner chooses.
struct Placement {
  DeviceId device = {};
  MemoryId memory = {};
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Ops under one name: the group "run" stands for run[0] … run[n-1]. Ops of a group without a name
// are named after their kinds, and numbered over all of the group.
struct Group {
  std::string name;
  OpId first;
  std::uint32_t count = 0;    // of ops, further outputs included
  std::uint32_t outputs = 1;  // of each op; 1 in a group without a name
  bool indexed = false;       // whether ops are named name[i] rather than name
  SourcePlace place;          // in the user's file
};

// An op template: what ops appended alike have in common, that is everything but their inputs.
struct OpTemplate {
  OpKindId kind;
  Placement placement = {};
  Attrs attrs = {};          // those that aren't given take their fallbacks
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

// An op class: ops of one template whose inputs have the same types. They differ only in which
// tensors they read.
struct OpClass {
  OpTemplateId op_template;
  OpKindId kind;
  std::uint32_t attrs = 0;    // index of the attributes, see Graph::attrs_index
  std::uint32_t type = 0;     // of the output: index into Graph::types
  std::uint16_t output = 0;   // k: ops that stand for the k-th further output (see Graph)
  std::uint16_t further = 0;  // further outputs; their classes are numbered from the next one on
  Placement placement = {};
  Work work = {};
  std::vector<std::uint32_t> input_types = {};  // indices into Graph::types
};

// An op that makes several tensors has an op for each further one right behind it, called a further
// output. Its only input is the op that makes it, on whose device it is, and it takes no time.
//
// Append-only: an op never changes, and ops may be appended while earlier ops run. An op's inputs
// are older than the op, so there is no cycle. Takes 8 bytes per op and 4 per input; all else is
// stored once per class. The oldest ops may be forgotten; ids continue, up to 2^32 - 2. Not safe
// for concurrent writers.
class Graph {
 public:
  // `ops` must outlive the graph.
  explicit Graph(const OpRegistry& ops = builtin_ops()) : ops_(&ops) {}

  // Opens a group: ops appended from now on belong to it.
  GroupId begin_group(std::string name, bool indexed = false, SourcePlace place = {});

  // Appends an op to the open group. The op kind determines the output's type. Throws a usage Error
  // if no group is open; with the group's place, if the kind or an input doesn't exist, the number
  // of inputs, an attribute or a shape is wrong, or the ops of a group with a name make different
  // numbers of tensors.
  // `op.inputs` may be the span that inputs() returned for another op of this graph. Returns the
  // op; further outputs come right after it.
  OpId append(const OpSpec& op);

  // The same in two steps, for many ops of one template: append() then checks only the inputs.
  OpTemplateId add_template(const OpTemplate& op_template);
  OpId append(OpTemplateId op_template, std::span<const OpId> inputs);
  // Reserves memory for `ops` more ops with `inputs` inputs in total. While the result lives, a
  // second thread populates that memory, and no more ops and inputs than these may be appended; a
  // further output counts as an op with an input.
  [[nodiscard]] Prefault reserve(std::size_t ops, std::size_t inputs);

  // A copy in which each of these ops is of a template instead that needs no inputs and makes one
  // tensor, of the same type; ops and groups have the same numbers. `sources` must be sorted by op,
  // and no op may be forgotten.
  struct Source {
    OpId op;
    OpTemplate op_template;
  };
  Graph with_sources(std::span<const Source> sources) const;

  // Forgets the ops before `first`: frees their memory, in bulk. Their names, groups and classes
  // stay. Ops appended later must not read them. `first` must be at most OpId::at(size()). Does
  // nothing if these ops are already forgotten.
  void forget_before(OpId first);

  // Ops ever appended.
  std::size_t size() const { return rows_.size(); }
  // The oldest op that is not forgotten, or OpId::at(size()) if there is none. For older ops only
  // name() and group_of() may be called.
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
  // The reference stays valid as long as the graph exists; another thread may read it meanwhile.
  const Attrs& attrs(OpId op) const { return attrs_[attrs_index(op)].attrs; }
  const Placement& placement(OpId op) const { return op_class(op).placement; }
  const Work& work(OpId op) const { return op_class(op).work; }
  // Every distinct type: entry i has type_index i.
  std::span<const TensorType> types() const { return types_; }

  // k > 0: the op is the k-th further output of maker(op). Else maker(op) is op itself.
  std::uint32_t output_number(OpId op) const { return op_class(op).output; }
  OpId maker(OpId op) const { return OpId{op.value - output_number(op)}; }

  // Ops with equal indices have equal types, attributes or classes.
  std::uint32_t type_index(OpId op) const { return class_types_[class_index(op)]; }
  std::uint32_t attrs_index(OpId op) const { return op_class(op).attrs; }
  std::uint32_t class_index(OpId op) const { return rows_[op.index()].op_class; }
  const OpClass& op_class(OpId op) const { return classes_[class_index(op)]; }
  std::span<const OpClass> classes() const { return classes_; }

  std::size_t group_count() const { return groups_.size(); }
  const Group& group(GroupId g) const { return groups_[g.index()]; }
  GroupId group_of(OpId op) const;
  // The number i of run[i]. Of a group without a name: the number of its op maker(op).
  std::uint32_t index_in_group(OpId op) const;
  // Where run[i] is, or its further output.
  OpId op_in_group(GroupId g, std::uint32_t index, std::uint32_t output = 0) const {
    return OpId{group(g).first.value + index * group(g).outputs + output};
  }
  // Where the op stands in the user's file: by default where its group does.
  SourcePlace place(OpId op) const { return place_of_ ? place_of_(op) : group(group_of(op)).place; }
  void set_places(std::function<SourcePlace(OpId)> place_of) { place_of_ = std::move(place_of); }
  GroupId find_group(std::string_view name) const;
  std::string name(OpId op) const;  // "run[3]", "run.deviation[3]"

 private:
  struct OpRow {
    // The lower half of an index into inputs_. append() asserts that fewer than 2^32 inputs are
    // held, so this half identifies the index.
    std::uint32_t first_input;
    std::uint32_t op_class;
  };
  struct AttrsRow {
    OpKindId kind;
    Attrs attrs;
    friend bool operator==(const AttrsRow&, const AttrsRow&) = default;
  };
  struct TemplateRow {
    OpKindId kind;
    std::uint32_t attrs;
    Placement placement;
    TensorType declared;
    std::vector<std::uint32_t> recent = {};  // up to `lookback` classes, the last used at the end
  };

  // Of an existing row, or of the next row to be appended.
  std::uint32_t first_input(std::size_t row) const {
    return row < rows_.size() ? rows_[row].first_input : static_cast<std::uint32_t>(inputs_.size());
  }

  [[noreturn]] void refuse_input(OpId input) const;
  bool takes(const OpClass& op_class, std::span<const OpId> inputs) const;
  std::uint32_t find_class(OpTemplateId op_template, std::span<const OpId> inputs);
  std::uint32_t find_older_class(OpTemplateId op_template, std::span<const OpId> inputs);
  std::uint32_t find_by_hash(OpTemplateId op_template, std::span<const OpId> inputs);
  std::uint32_t add_class(OpTemplateId op_template, std::span<const OpId> inputs);
  void set_outputs(std::uint32_t op_class);
  void append_further_outputs(OpId op);

  const OpRegistry* ops_;
  SlidingVector<OpRow> rows_;
  SlidingVector<OpId> inputs_;
  std::vector<OpClass> classes_;
  std::vector<std::uint32_t> class_types_;  // OpClass::type of each class, for fast access
  // By a hash of template and input types. Without this table, a stream that alternates between
  // more classes than `lookback` would add classes without end.
  std::unordered_multimap<std::uint64_t, std::uint32_t> classes_by_hash_;
  std::vector<TemplateRow> templates_;
  std::vector<TensorType> types_;
  std::deque<AttrsRow> attrs_;
  bool makes_several_ = false;  // an op class has further outputs
  std::vector<Group> groups_;
  std::function<SourcePlace(OpId)> place_of_;
};

}  // namespace troupe
