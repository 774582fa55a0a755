#include "actors/session/session_tensors.hpp"

#include "core/memory/shared_buffer.hpp"

#include <utility>

namespace troupe {

SessionTensors::SessionTensors(Execution& execution, const Machine& machine, Cluster* cluster)
    : execution_(execution),
      machine_(machine),
      cluster_(cluster),
      store_(execution.store()),
      released_(store_.pool()) {
  if (cluster_ == nullptr) return;
  cluster_->begin_growing(machine_, execution_.setting().widest_team);
  if (execution_.has_lost_node()) throw execution_.loss();
}

void SessionTensors::renumber(std::span<const ReplicaId> kept) {
  const TensorChanges changes = std::exchange(changes_, {});
  store_.renumber(kept);  // first: the session goes by these numbers, whatever nodes answer
  if (cluster_ != nullptr) cluster_->tensors().renumber(changes.released, kept);
}

void SessionTensors::hold(const PlannedWindow& planned) {
  for (const ReplicaId r : planned.read_again) {
    store_.add_readers(r, 1);
    if (cluster_ != nullptr) changes_.read_again.push_back({node_of(r), r});
  }
}

void SessionTensors::prepare(const PlannedWindow& planned, std::uint32_t first_window,
                             std::span<const TensorType> types,
                             std::span<const std::uint64_t> at_once) {
  changes_.first_window = first_window;
  if (cluster_ == nullptr) return execution_.prepare(planned, types, at_once);
  add(planned.replicas, types, at_once);
}

void SessionTensors::add(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types,
                         std::span<const std::uint64_t> at_once) {
  cluster_->tensors().change(changes_, replicas, types, at_once);
  changes_.read_again.clear();
  changes_.released.clear();
  const ReplicaId first = store_.install(replicas, types);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    store_.acquire(ReplicaId::at(first.index() + i));
  }
}

void SessionTensors::retire(const Window& window) {
  if (cluster_ == nullptr) return;
  for (const auto& [resource, share] : window.shares) {
    for (const ReplicaId input : share.inputs) store_.release(input);
    for (std::uint32_t item = 0; item < share.size(); ++item) {
      if (share.items[item].frees_result) store_.release(share.output(item));
    }
  }
}

void SessionTensors::flush(bool is_idle) {
  released_.flush();
  if (is_idle && !changes_.released.empty()) add({}, {}, {});
}

ReplicaId SessionTensors::give(const ReplicaSpec& spec, std::span<const TensorType> types,
                               std::shared_ptr<const std::byte> values, bool adopts) {
  const bool has_values = execution_.setting().has_values();
  if (cluster_ != nullptr) {
    const std::vector<std::uint64_t> at_once(types.size(), 1);
    const ReplicaId replica = ReplicaId::at(store_.replica_count());
    add({&spec, 1}, types, at_once);
    const NodeId node = node_of(replica);
    cluster_->tensors().give(node, replica,
                             {values.get(), has_values ? types[spec.type].bytes() : 0});
    return replica;
  }
  const ReplicaId replica = store_.install({&spec, 1}, types);
  if (has_values && store_.take_over(replica, values)) return replica;
  if (has_values && adopts && is_host_ram(machine_, spec.memory)) {
    store_.adopt(replica, std::move(values));
    return replica;
  }
  store_.acquire(replica);
  if (has_values) store_.write(replica, {values.get(), types[spec.type].bytes()});
  return replica;
}

std::shared_ptr<std::byte> SessionTensors::buffer_to_give(MemoryId m, std::uint64_t bytes) const {
  constexpr std::uint64_t large = 64 << 10;  // a second copy of fewer costs less than a lock
  if (bytes < large || cluster_ != nullptr || !is_host_ram(machine_, m)) return nullptr;
  BufferPool& pool = store_.pool(m);
  // To pin memory, the calling thread would change its GPU, which may be the program's own.
  return pool.is_pinned() ? nullptr : shared_buffer(pool, bytes);
}

void SessionTensors::read(ReplicaId r, std::span<std::byte> out) const {
  if (cluster_ == nullptr) return store_.read(r, out);
  cluster_->tensors().read(node_of(r), r, out);
}

}  // namespace troupe
