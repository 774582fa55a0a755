#include "actors/session/session_epoch.hpp"

#include "core/ops/builtin.hpp"
#include "core/plan/placement.hpp"

#include <algorithm>

namespace troupe {
namespace {

// An op of an epoch takes about 100 bytes until the epoch ends. At its end devices idle for about
// as long as a message takes: nothing beside so many ops.
constexpr std::size_t epoch_ops_max = 1 << 16;

}  // namespace

SessionEpoch::SessionEpoch(const Machine& machine, const OpRegistry& ops, const RunSetting& setting,
                           const PlaceOfLine& place_of, std::uint32_t first_window,
                           const SessionEpoch* before, const SessionTensors& tensors)
    : machine_(machine),
      setting_(setting),
      graph_(ops),
      options_(plan_options(setting, machine)),
      planner_(graph_, machine, options_, first_window) {
  graph_.begin_group("");
  graph_.set_places([this, &place_of](OpId op) { return place_of(line_of_[op.index()]); });
  if (before == nullptr) return;
  for (const Kept& kept : take_over(*before, tensors, ops.find(given_op().name))) {
    planner_.add_given(kept.tensor->op, tensors.memory(kept.replica));
    kept.tensor->copies.push_back({ReplicaId::at(kept_.size()), 0});
    kept_.push_back(kept.replica);
  }
}

// Appends a given op for each tensor in use. Returns their replicas by number.
std::vector<SessionEpoch::Kept> SessionEpoch::take_over(const SessionEpoch& before,
                                                        const SessionTensors& tensors,
                                                        OpKindId given) {
  std::vector<Kept> kept;
  for (std::size_t i = 0; i < before.tensor_of_.size(); ++i) {
    TensorState* const tensor = before.tensor_of_[i];
    if (tensor == nullptr) continue;
    const MemoryId home = tensors.memory(tensor->copies.front().replica);
    tensor->op = graph_.append({.kind = given,
                                .placement = {.memory = home},
                                .declared = before.graph_.type(OpId::at(i))});
    tensor_of_.push_back(tensor);
    line_of_.push_back(before.line_of_[i]);
    for (const TensorState::Copy& copy : tensor->copies) kept.push_back({copy.replica, tensor});
    tensor->copies.clear();
  }
  kept_tensors_ = tensor_of_.size();
  std::sort(kept.begin(), kept.end(),
            [](const Kept& a, const Kept& b) { return a.replica < b.replica; });
  return kept;
}

bool SessionEpoch::is_long() const {
  return line_of_.size() >= epoch_ops_max + 2 * kept_tensors_;
}

void SessionEpoch::append(const Signature& signature, std::span<TensorState* const> inputs,
                          TensorState& output, std::uint32_t line,
                          const std::optional<Placement>& where) {
  output.op = signature.output_number > 0 ? OpId{inputs.front()->op.value + signature.output_number}
                                          : append_op(signature, inputs, where);
  tensor_of_.push_back(&output);
  line_of_.push_back(line);
}

OpId SessionEpoch::append_move(TensorState& tensor, MemoryId target) {
  const OpId from = tensor.op;
  tensor.op = graph_.append(
      {.kind = graph_.kinds().find("copy"), .inputs = {&from, 1}, .placement = {.memory = target}});
  forget(from);
  tensor_of_.push_back(&tensor);
  line_of_.push_back(line_of_[from.index()]);
  tensor.copies.clear();
  return tensor.op;
}

OpId SessionEpoch::append_op(const Signature& signature, std::span<TensorState* const> inputs,
                             const std::optional<Placement>& where) {
  if (signature.number >= templates_.size()) templates_.resize(signature.number + 1);
  OpTemplateId& op_template = templates_[signature.number];
  if (!op_template) op_template = graph_.add_template(signature.op_template);
  constexpr std::size_t inline_inputs_max = 8;
  OpId few[inline_inputs_max];
  std::vector<OpId> many;
  OpId* ops = few;
  if (inputs.size() > inline_inputs_max) {
    many.resize(inputs.size());
    ops = many.data();
  }
  std::transform(inputs.begin(), inputs.end(), ops, [](const TensorState* t) { return t->op; });
  if (!where) return graph_.append(op_template, {ops, inputs.size()});
  return graph_.append({.kind = signature.op_template.kind,
                        .inputs = {ops, inputs.size()},
                        .placement = *where,
                        .attrs = signature.op_template.attrs,
                        .declared = signature.op_template.declared});
}

Duration SessionEpoch::time_to_place(OpId op) {
  if (setting_.has_virtual_time) return Duration{0};
  const std::uint32_t op_class = graph_.class_index(op);
  for (std::size_t c = times_to_place_.size(); c <= op_class; ++c) {
    const OpClass& of = graph_.classes()[c];
    Duration least{0};
    if (!is_given(of.placement)) {
      least = longest_duration;
      for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
        least = std::min(least, setting_.cost->op(DeviceId::at(d), graph_, of));
      }
    }
    times_to_place_.push_back(least);
  }
  return times_to_place_[op_class];
}

}  // namespace troupe
