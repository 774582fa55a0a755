// The tensors of a run that its nodes have, as the leader sees them.
#pragma once

#include "actors/nodes/asked_nodes.hpp"
#include "core/base/big_vector.hpp"
#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/digest.hpp"
#include "core/ops/tensor_type.hpp"
#include "core/plan/plan.hpp"
#include "core/result/results.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace troupe {

// What becomes of tensors while windows are planned and others are under way.
struct TensorChanges {
  struct Of {
    NodeId node;
    ReplicaId replica;
  };
  std::uint32_t first_window = 0;  // windows before it are done
  std::vector<Of> read_again;      // get one more reader each
  std::vector<Of> released;        // then lose one
};

// For use by one thread. All functions but change() that ask nodes block, and throw an Error that
// names the node.
class RemoteTensors final : public Results {
 public:
  // The nodes must outlive it.
  explicit RemoteTensors(AskedNodes& nodes) : nodes_(nodes) {}

  // A run begins: there are no results. The machine must outlive the run.
  void begin_run(std::uint32_t number, const Machine& machine);
  // Of the plan, which must exist when it is asked for. Results are best asked for in the order in
  // which they are given here: digests come several at a time.
  void find_result(const Plan& plan, ReplicaId result, bool is_kept,
                   std::span<const TensorType> types);
  bool is_equal(ReplicaId result, bool is_kept, std::span<const std::byte> values) override;
  std::span<const std::byte> values(ReplicaId result) override;

  // Of a run whose windows are planned while it is on. `added` get the next ids of replicas. Of
  // windows before `changes.first_window` nothing is needed any more. If a node can't do it, what
  // it is to compute next fails.
  void change(const TensorChanges& changes, std::span<const ReplicaSpec> added,
              std::span<const TensorType> types, std::span<const std::uint64_t> at_once);
  // As MemoryStore::renumber(). No window may be under way.
  void renumber(std::span<const TensorChanges::Of> released, std::span<const ReplicaId> kept);
  // The values of a tensor that was added, and that no item makes.
  void give(NodeId node, ReplicaId tensor, std::span<const std::byte> values);
  // Of a tensor that has been made, whose size `out` must have.
  void read(NodeId node, ReplicaId tensor, std::span<std::byte> out);

 private:
  struct Place {
    std::size_t node;
    std::uint64_t bytes;
    bool is_kept;
    std::size_t position;  // in the list of the node
  };

  void fetch_digests(ReplicaId first);

  AskedNodes& nodes_;
  std::uint32_t run_ = 0;
  const Machine* machine_ = nullptr;  // of the run
  std::unordered_map<ReplicaId, Place> results_;
  std::vector<std::vector<ReplicaId>> lists_;  // by NodeId: its results
  std::unordered_map<ReplicaId, Digest> digests_;
  BigVector<std::byte> fetched_;
  std::vector<std::uint64_t> given_;  // by NodeId: bytes that were sent since it has answered
};

}  // namespace troupe
