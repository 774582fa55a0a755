// The graph of a session from one renewal to the next.
#pragma once

#include "actors/run_setting.hpp"
#include "actors/session/session_tensors.hpp"
#include "actors/session/signatures.hpp"
#include "actors/session/tensor_state.hpp"
#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/graph/graph.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/registry.hpp"
#include "core/plan/planner.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

// Where a line is of the program that called: the session knows which.
using PlaceOfLine = std::function<SourcePlace(std::uint32_t)>;

// In an epoch, ops are only appended. When many have been, a new one begins with the tensors that
// are still in use as given ones, numbered anew. So what the past takes is bounded, whichever of
// its tensors live on.
class SessionEpoch {
 public:
  // `before`: the epoch whose tensors this one begins with; null: none. All of its windows have
  // completed. Its tensors have their new ops and copies afterwards. The objects referred to must
  // outlive the epoch, but for `before` and `tensors`.
  SessionEpoch(const Machine& machine, const OpRegistry& ops, const RunSetting& setting,
               const PlaceOfLine& place_of, std::uint32_t first_window, const SessionEpoch* before,
               const SessionTensors& tensors);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const PlanOptions& options() const { return options_; }
  WindowPlanner& planner() { return planner_; }
  const WindowPlanner& planner() const { return planner_; }
  // The replicas that it began with, in their new order, by their old numbers.
  std::span<const ReplicaId> kept() const { return kept_; }
  // So many ops that a new epoch should begin.
  bool is_long() const;

  // Appends the call's op, unless it came with an earlier output of it; the call makes `output`.
  // `where`: in place of where the call says.
  void append(const Signature& signature, std::span<TensorState* const> inputs, TensorState& output,
              std::uint32_t line, const std::optional<Placement>& where = {});
  // Appends an op that copies the tensor to another memory, and from now on makes it: what reads
  // the tensor reads the copy. The tensor has no copies until the op's window is sent.
  OpId append_move(TensorState& tensor, MemoryId target);
  // Signatures get new numbers.
  void forget_signatures() { templates_.clear(); }

  // Null: nobody uses what the op makes.
  TensorState* tensor_of(OpId op) const { return tensor_of_[op.index()]; }
  // Nobody does any more.
  void forget(OpId op) { tensor_of_[op.index()] = nullptr; }

  // The expected time, on the fastest device, of an op that a policy places; 0 where none does, and
  // in virtual time.
  Duration time_to_place(OpId op);

 private:
  // A replica of a tensor that it begins with, by its old number.
  struct Kept {
    ReplicaId replica;
    TensorState* tensor;
  };
  std::vector<Kept> take_over(const SessionEpoch& before, const SessionTensors& tensors,
                              OpKindId given);
  OpId append_op(const Signature& signature, std::span<TensorState* const> inputs,
                 const std::optional<Placement>& where);

  const Machine& machine_;
  const RunSetting& setting_;
  Graph graph_;
  const PlanOptions options_;
  std::vector<TensorState*> tensor_of_;   // by op
  std::vector<std::uint32_t> line_of_;    // by op
  std::vector<OpTemplateId> templates_;   // by signature
  std::vector<Duration> times_to_place_;  // by class of ops
  WindowPlanner planner_;
  std::size_t kept_tensors_ = 0;
  std::vector<ReplicaId> kept_;
};

}  // namespace troupe
