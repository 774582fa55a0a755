// The tensors of a session, in this process or on nodes.
#pragma once

#include "actors/execution.hpp"
#include "actors/nodes/cluster.hpp"
#include "actors/nodes/remote_tensors.hpp"
#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/buffer_pool.hpp"
#include "core/memory/memory_store.hpp"
#include "core/ops/tensor_type.hpp"
#include "core/plan/planner.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

// In this process they are those of the execution's store. Tensors on nodes have their values and
// their readers there. The store then keeps account of them: it counts the readers down when a
// window is back. So it knows of less room than there is, never of more; and who is its last reader
// is that on the node, too.
//
// For use by one thread at a time. What asks nodes blocks, and throws an Error that names the node
// if one refuses or is lost.
class SessionTensors {
 public:
  // `cluster`: as the execution has it. The objects referred to must outlive it.
  SessionTensors(Execution& execution, const Machine& machine, Cluster* cluster);

  // As the functions of MemoryStore.
  MemoryId memory(ReplicaId r) const { return store_.memory(r); }
  std::uint64_t bytes_available(MemoryId m) const { return store_.bytes_available(m); }
  std::size_t first_without_room(std::span<const ReplicaSpec> replicas,
                                 std::span<const TensorType> types) const {
    return store_.first_without_room(replicas, types);
  }
  bool has_room(const ReplicaSpec& replica, const TensorType& type) const {
    return store_.has_room({&replica, 1}, {&type, 1});
  }
  void release(ReplicaId r) {
    store_.release(r, released_);
    note_release(r);
  }
  // A copy that may not have been made yet must not be freed.
  bool release_unless_last(ReplicaId r) {
    if (!store_.release_unless_last(r)) return false;
    note_release(r);
    return true;
  }
  void renumber(std::span<const ReplicaId> kept);

  // What the window reads is held from now on.
  void hold(const PlannedWindow& planned);
  // Readies memory for what it makes; it will be sent next. `first_window`: windows before it are
  // done. `at_once`: see MemoryStore::reserve_buffers().
  void prepare(const PlannedWindow& planned, std::uint32_t first_window,
               std::span<const TensorType> types, std::span<const std::uint64_t> at_once);
  // The window is back.
  void retire(const Window& window);
  // The buffers of what was released are free for others. `is_idle`: no window is planned or under
  // way.
  void flush(bool is_idle);

  // A tensor that the program gives: its values, or null where there are none. `adopts`: they may
  // be used where they are, until the tensor is freed.
  ReplicaId give(const ReplicaSpec& spec, std::span<const TensorType> types,
                 std::shared_ptr<const std::byte> values, bool adopts);
  // A buffer for large values that are to be given, in this memory; null: none has an advantage.
  // Thread-safe. Blocks and throws as BufferPool::take() does.
  std::shared_ptr<std::byte> buffer_to_give(MemoryId m, std::uint64_t bytes) const;
  // Where the values of a tensor are that has been made; null unless they are in RAM here.
  const std::byte* data(ReplicaId r) const {
    return store_.is_host_visible(r) ? store_.data(r) : nullptr;
  }
  // Copies them to `out`, which must have the tensor's size.
  void read(ReplicaId r, std::span<std::byte> out) const;

 private:
  NodeId node_of(ReplicaId r) const { return machine_.memory(memory(r)).node; }
  // A node gets to know with the next window.
  void note_release(ReplicaId r) {
    if (cluster_ != nullptr) changes_.released.push_back({node_of(r), r});
  }
  void add(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types,
           std::span<const std::uint64_t> at_once);

  Execution& execution_;
  const Machine& machine_;
  Cluster* const cluster_;
  MemoryStore& store_;
  BufferCache released_;   // collects buffers that go back to the pool together
  TensorChanges changes_;  // that nodes don't know of yet
};

}  // namespace troupe
