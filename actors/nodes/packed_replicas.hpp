// The replicas of one node as a message to it.
#pragma once

#include "actors/nodes/flat_bytes.hpp"
#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/tensor_type.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include <caf/meta/type_name.hpp>

namespace troupe {

// Of all replicas of a plan, those in memories of one node, and their types. Copies share their
// bytes.
class PackedReplicas {
 public:
  PackedReplicas() = default;
  // `all` are the replicas by id, and `types` those that they refer to. `at_once`: of each type,
  // the number of replicas that need a buffer at the same time (Plan::buffers).
  PackedReplicas(std::span<const ReplicaSpec> all, std::span<const TensorType> types,
                 std::span<const std::uint64_t> at_once, const Machine& machine, NodeId node);

  // As many replicas as there were at the sender. Those of other nodes are in the memory
  // `elsewhere`, have no readers, and have the first one of types(). Throws a run Error if the
  // bytes are not those of replicas, or if one is in no memory of `machine`. Their number can't be
  // checked: up to 2^32 replicas are allocated.
  std::vector<ReplicaSpec> unpack(MemoryId elsewhere, const Machine& machine) const;
  // What ReplicaSpec::type refers to. The first one is that of a single element, for the replicas
  // of other nodes. Throws a run Error if the bytes are not those of replicas.
  std::vector<TensorType> types() const;
  // By these types. Throws likewise.
  std::vector<std::uint64_t> at_once() const;

 private:
  template <class Inspector>
  friend auto inspect(Inspector& f, PackedReplicas& replicas) {
    return f(caf::meta::type_name("troupe::PackedReplicas"), replicas.bytes_);
  }

  FlatBytes bytes_;
};

}  // namespace troupe
