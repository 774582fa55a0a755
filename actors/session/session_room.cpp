// How the engine of a session makes room for a call that might not fit.
#include "actors/session/refuges.hpp"
#include "actors/session/session_engine.hpp"
#include "core/ops/builtin.hpp"
#include "core/plan/placement.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {
namespace {

// Of a memory that is full, so much goes to others at least: the calls that follow won't wait, too.
constexpr std::uint64_t part_moved_out = 8;

// The rate of the fastest link of a memory.
double rate_of_links(const Machine& machine, MemoryId memory) {
  constexpr double least = 1e9;
  double rate = least;
  for (const Link& link : machine.links) {
    if (link.a != memory && link.b != memory) continue;
    rate = std::max(rate, std::min(link.bandwidth[0], link.bandwidth[1]));
  }
  return rate;
}

}  // namespace

// Whether a tensor may leave a memory to make room for a call with these inputs: nor may what a
// program is reading, nor what was moved for this call before. So moves come to an end.
bool SessionEngine::may_leave(const TensorState& tensor, std::span<TensorState* const> inputs) {
  if (std::ranges::find(inputs, &tensor) != inputs.end()) return false;
  if (tensor.moved_for == handed_out_ + 1) return false;
  if (tensor.readers.load() == 0) return true;
  awaits_readers_ = true;  // before another look: a reader that ends after it sees this
  return tensor.readers.load() == 0;
}

// Frees copies of tensors that are elsewhere, too, in memories that the call is short of, until it
// isn't; or in this one, if there is one. Whether it has freed any. Not while something is
// measured, which needs the units of one epoch.
bool SessionEngine::evict(std::span<TensorState* const> inputs, MemoryId from) {
  if (summary_ != nullptr || copied_ == 0) return false;
  bool has_freed = false;
  for (std::size_t i = 0; i < graph().size(); ++i) {
    TensorState* const tensor = epoch_->tensor_of(OpId::at(i));
    if (tensor == nullptr || tensor->copies.size() < 2 || !may_leave(*tensor, inputs)) continue;
    const auto is_short = [this, from](const TensorState::Copy& copy) {
      const MemoryId memory = tensors_.memory(copy.replica);
      return from ? memory == from : room_.is_short(memory);
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

// Where tensors of this memory go that the call doesn't read, those first that were used least
// recently: so many bytes, and then some more. Whether there are so many.
bool SessionEngine::find_moves(MemoryId from, std::uint64_t bytes, Refuges& refuges,
                               std::span<TensorState* const> inputs, std::vector<Move>& moves) {
  std::vector<TensorState*> candidates;
  for (std::size_t i = 0; i < graph().size(); ++i) {
    TensorState* const tensor = epoch_->tensor_of(OpId::at(i));
    if (tensor == nullptr || tensor->copies.size() != 1) continue;
    if (tensors_.memory(tensor->copies.front().replica) != from) continue;
    if (may_leave(*tensor, inputs)) candidates.push_back(tensor);
  }
  std::ranges::sort(candidates, {}, &TensorState::last_used);
  const std::uint64_t wanted = std::max(bytes, machine_.memory(from).size_bytes / part_moved_out);
  std::uint64_t moved = 0;
  for (TensorState* const tensor : candidates) {
    if (moved >= wanted) break;
    const std::uint64_t size = graph().type(tensor->op).bytes();
    const MemoryId target = refuges.take(from, size);
    if (!target) continue;
    moves.push_back({tensor, target});
    moved += size;
  }
  return moved >= bytes;
}

// Moves that together make room for the call that is counted. None: there is no room; but if a
// memory is named then, what leaves it can make some.
std::vector<SessionEngine::Move> SessionEngine::find_moves(std::span<TensorState* const> inputs,
                                                           MemoryId& full_on_the_way) {
  full_on_the_way = {};
  std::vector<Move> moves;
  Refuges refuges(machine_, room_);
  for (std::size_t m = 0; m < machine_.memories.size(); ++m) {
    const MemoryId memory = MemoryId::at(m);
    if (!room_.is_short(memory)) continue;
    if (find_moves(memory, room_.missing(memory), refuges, inputs, moves)) continue;
    full_on_the_way = refuges.full_on_the_way();
    return {};
  }
  return moves;
}

// Plans a window that moves these tensors.
void SessionEngine::plan_moves(std::span<const Move> moves) {
  OpRanges ops;
  std::vector<ReplicaId> left;
  for (const Move& move : moves) {
    left.push_back(move.tensor->copies.front().replica);
    ops.append(epoch_->append_move(*move.tensor, move.target));
    move.tensor->moved_for = handed_out_ + 1;
  }
  planned_ = Planned{};
  plan_ops(std::move(ops), {});
  for (const ReplicaId replica : left) tensors_.release(replica);
}

// Whether there would be room for the call that is counted if all left that may.
bool SessionEngine::may_fit(std::span<TensorState* const> inputs) {
  if (!room_.is_any_short()) return true;
  std::vector<std::uint64_t> bytes(machine_.memories.size(), 0);
  for (std::size_t i = 0; i < graph().size(); ++i) {
    const TensorState* const tensor = epoch_->tensor_of(OpId::at(i));
    if (tensor == nullptr || !may_leave(*tensor, inputs)) continue;
    for (const TensorState::Copy& copy : tensor->copies) {
      bytes[tensors_.memory(copy.replica).index()] += graph().type(tensor->op).bytes();
    }
  }
  for (std::size_t m = 0; m < bytes.size(); ++m) {
    if (room_.missing(MemoryId::at(m)) > bytes[m]) return false;
  }
  return true;
}

// Where the call can be: as it says; or on each device that can compute it and that its inputs can
// reach, in the order of the times that this might take, with copies of what it reads, and with
// room made for it.
std::vector<Placement> SessionEngine::choices(const Signature& signature,
                                              std::span<TensorState* const> inputs) {
  const OpTemplate& call = signature.op_template;
  if (is_given(call.placement)) return {call.placement};
  Graph alone(ops_);
  alone.begin_group("");
  std::vector<OpId> read;
  for (const TensorState* const input : inputs) {
    read.push_back(alone.append({.kind = ops_.find(given_op().name),
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
    const MemoryId memory = machine_.device(device).memory;
    if (!room_.can_reach(inputs, memory)) continue;
    room_.count(signature, inputs, {.device = device});
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

// Makes room for a call. Nothing is in flight. Where it says that the call can go, it can be
// planned by itself; nowhere if a window has to make room first, which is planned then, or if a
// program must end reading.
std::optional<Placement> SessionEngine::make_room(const Signature& signature,
                                                  std::span<TensorState* const> inputs) {
  awaits_readers_ = false;
  for (const Placement& choice : choices(signature, inputs)) {
    const auto count = [&] {
      room_.begin(graph());
      room_.count(signature, inputs, choice);
    };
    room_.count(signature, inputs, choice);
    if (!may_fit(inputs)) continue;
    if (room_.is_any_short() && evict(inputs, {})) count();
    if (!room_.is_any_short()) return choice;
    if (!ops_.find("copy")) continue;
    MemoryId full;
    std::vector<Move> moves = find_moves(inputs, full);
    if (moves.empty() && full && evict(inputs, full)) {
      count();
      moves = find_moves(inputs, full);
    }
    if (moves.empty() && full) {
      Refuges refuges(machine_, room_);
      find_moves(full, 1, refuges, inputs, moves);
    }
    if (moves.empty()) continue;
    plan_moves(moves);
    return std::nullopt;
  }
  if (awaits_readers_) return std::nullopt;
  return signature.op_template.placement;  // it may need less than what was counted
}

}  // namespace troupe
