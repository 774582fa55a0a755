// How the engine of a session makes room for a call that might not fit.
#include "actors/session/refuges.hpp"
#include "actors/session/session_engine.hpp"
#include "core/plan/placement.hpp"

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

// Of a memory that is full, so much goes to others at least: the calls that follow won't wait, too.
constexpr std::uint64_t part_moved_out = 8;

// The rate of the fastest link of a memory. Links are rarely without one.
double rate_of_links(const Machine& machine, MemoryId memory) {
  double rate = 1e9;
  for (const Link& link : machine.links) {
    if (link.a != memory && link.b != memory) continue;
    rate = std::max(rate, std::min(link.bandwidth[0], link.bandwidth[1]));
  }
  return rate;
}

}  // namespace

// Whether a tensor may leave a memory to make room for a call with these inputs: nor may what a
// program is reading.
bool SessionEngine::may_leave(const TensorState& tensor, std::span<TensorState* const> inputs) {
  return std::ranges::find(inputs, &tensor) == inputs.end() &&
         tensor.readers.load(std::memory_order_acquire) == 0;
}

// Frees copies of tensors that are elsewhere, too, in memories that the call is short of, until it
// isn't. Whether it has freed any. Not while something is measured, which needs the units of one
// epoch.
bool SessionEngine::evict(std::span<TensorState* const> inputs) {
  if (summary_ != nullptr || copied_ == 0) return false;
  bool has_freed = false;
  for (std::size_t i = 0; i < graph().size(); ++i) {
    TensorState* const tensor = epoch_->tensor_of(OpId::at(i));
    if (tensor == nullptr || tensor->copies.size() < 2 || !may_leave(*tensor, inputs)) continue;
    const auto is_short = [this](const TensorState::Copy& copy) {
      return room_.is_short(tensors_.memory(copy.replica));
    };
    const auto elsewhere = std::ranges::find_if_not(tensor->copies, is_short);
    const ReplicaId stays =
        elsewhere != tensor->copies.end() ? elsewhere->replica : tensor->copies.front().replica;
    const auto freed = std::erase_if(tensor->copies, [&](const TensorState::Copy& copy) {
      if (copy.replica == stays || !is_short(copy)) return false;
      room_.free_some(tensors_.memory(copy.replica), graph().type(tensor->op).bytes());
      tensors_.release(copy.replica);
      return true;
    });
    has_freed = has_freed || freed > 0;
    if (tensor->copies.size() < 2) --copied_;
  }
  if (has_freed) renew();
  return has_freed;
}

// Moves tensors that the call doesn't read to other memories, those first that were used least
// recently, until the call isn't short of this one. Whether a window does so, which is planned
// then.
bool SessionEngine::move_out(MemoryId from, std::span<TensorState* const> inputs) {
  std::vector<TensorState*> candidates;
  for (std::size_t i = 0; i < graph().size(); ++i) {
    TensorState* const tensor = epoch_->tensor_of(OpId::at(i));
    if (tensor == nullptr || tensor->copies.size() != 1 || !may_leave(*tensor, inputs)) continue;
    if (tensors_.memory(tensor->copies.front().replica) == from) candidates.push_back(tensor);
  }
  std::ranges::sort(candidates, {}, &TensorState::last_used);
  Refuges refuges(machine_, room_);
  const std::uint64_t wanted = machine_.memory(from).size_bytes / part_moved_out;
  std::uint64_t moved = 0;
  OpRanges ops;
  std::vector<ReplicaId> left;
  for (TensorState* const tensor : candidates) {
    if (!room_.is_short(from) && moved >= wanted) break;
    const std::uint64_t bytes = graph().type(tensor->op).bytes();
    const MemoryId target = refuges.take(from, bytes);
    if (!target) continue;
    left.push_back(tensor->copies.front().replica);
    ops.append(epoch_->append_move(*tensor, target));
    room_.free_some(from, bytes);
    moved += bytes;
  }
  if (ops.empty()) return false;
  planned_ = Planned{};
  plan_ops(std::move(ops), {});
  for (const ReplicaId replica : left) tensors_.release(replica);
  return true;
}

// The same for all memories that the call is short of.
bool SessionEngine::move_out(std::span<TensorState* const> inputs) {
  for (std::size_t m = 0; m < machine_.memories.size(); ++m) {
    if (room_.is_short(MemoryId::at(m)) && move_out(MemoryId::at(m), inputs)) return true;
  }
  // The way out may be full.
  return std::ranges::any_of(machine_.links, [&](const Link& link) {
    return room_.is_short(link.a) != room_.is_short(link.b) &&
           move_out(room_.is_short(link.a) ? link.b : link.a, inputs);
  });
}

// Where the call can be: as it says; or on each device that can compute it, in the order of the
// times that this might take, with copies of what it reads, and with room made for it.
std::vector<Placement> SessionEngine::choices(const Signature& signature,
                                              std::span<TensorState* const> inputs) {
  const OpTemplate& call = signature.op_template;
  if (is_given(call.placement)) return {call.placement};
  Graph alone(ops_);
  alone.begin_group("");
  std::vector<OpId> read;
  for (const TensorState* const input : inputs) {
    read.push_back(alone.append({.kind = ops_.find("given"),
                                 .placement = {.memory = MemoryId{0}},
                                 .declared = graph().type(input->op)}));
  }
  const OpId op = alone.append(
      {.kind = call.kind, .inputs = read, .attrs = call.attrs, .declared = call.declared});
  const PlanOptions& options = epoch_->options();
  std::vector<std::pair<double, Placement>> timed;
  for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
    const DeviceId device = DeviceId::at(d);
    if (options.has_kernel && !options.has_kernel(device, alone.kind(op))) continue;
    room_.count(signature, inputs, {.device = device});
    const MemoryId memory = machine_.device(device).memory;
    const std::uint64_t bytes =
        room_.needed_by_call(memory) - signature.bytes_made + room_.missing(memory);
    const double time_s = seconds(options.cost->op(device, alone, alone.op_class(op)));
    timed.push_back({time_s + static_cast<double>(bytes) / rate_of_links(machine_, memory),
                     {.device = device}});
  }
  std::ranges::stable_sort(timed, {}, &std::pair<double, Placement>::first);
  std::vector<Placement> result;
  result.reserve(timed.size());
  for (const auto& [time_s, placement] : timed) result.push_back(placement);
  return result;
}

// Makes room for a call. Nothing is in flight. False if a window has to do so first, which is
// planned then. Else the call can be planned by itself; if a policy places it, with `busy`, by
// which only the device for which there is room is free.
bool SessionEngine::make_room(const Signature& signature, std::span<TensorState* const> inputs,
                              std::vector<Duration>& busy) {
  for (const Placement& choice : choices(signature, inputs)) {
    room_.count(signature, inputs, choice);
    if (room_.is_any_short() && evict(inputs)) {
      room_.begin(graph());
      room_.count(signature, inputs, choice);
    }
    if (room_.is_any_short() && move_out(inputs)) return false;
    if (room_.is_any_short()) continue;
    if (is_given(signature.op_template.placement)) return true;
    std::ranges::fill(busy, longest_duration);
    busy[choice.device.index()] = Duration{0};
    return true;
  }
  return true;  // it may need less than what was counted
}

}  // namespace troupe
