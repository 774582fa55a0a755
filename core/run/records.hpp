// The records of items: written by the actor that works on a share, and readable by another thread
// while that actor is in a kernel and can't send the share back.
#pragma once

#include "core/plan/share.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

// The item begins; `never`: it has failed. Call both from the thread of the share's actor.
inline void record_start(Share::Item& item, Instant start) {
  std::atomic_ref<Instant>(item.start).store(start, std::memory_order_relaxed);
}
// The item has finished. Everything else about it must have been recorded before.
inline void record_end(Share::Item& item, Instant end) {
  std::atomic_ref<Instant>(item.end).store(end, std::memory_order_release);
}

// A share that was sent to an actor. Its arrays stay where they are when it is moved, so this finds
// them until the share is destroyed.
class SentShare {
 public:
  SentShare(ResourceId resource, Share& share)
      : resource_(resource),
        window_(share.window),
        timed_(share.timed),
        items_(share.items),
        inputs_(share.inputs),
        moves_(share.moves),
        chunks_(share.chunks),
        kernels_(share.kernels) {}

  ResourceId resource() const { return resource_; }
  std::size_t size() const { return items_.size() - 1; }
  UnitId unit(std::size_t item) const { return items_[item].unit; }
  std::span<const ReplicaId> inputs_of(std::size_t item) const {
    const std::uint32_t first = items_[item].first_input;
    return inputs_.subspan(first, items_[item + 1].first_input - first);
  }
  bool paces(std::size_t item) const { return !chunks_.empty() && moves_[items_[item].work].paces; }
  // Everything that the item has written can then be read. The share must exist.
  bool has_finished(std::size_t item) const {
    return std::atomic_ref<Instant>(items_[item].end).load(std::memory_order_acquire) !=
           Share::never;
  }
  // The time, by the cost model, of the items that have not finished; for the share of a device.
  // The share must exist. Takes O(items).
  Duration expected_left() const;
  // What a report needs of the share: units, inputs, and the records of the items that have
  // finished by now. An item that is under way has a start and no end. The share must exist; its
  // actor may be at work on it.
  Share read() const;

 private:
  ResourceId resource_;
  std::uint32_t window_;
  bool timed_;
  std::span<Share::Item> items_;  // with the sentinel
  std::span<const ReplicaId> inputs_;
  std::span<const Share::Move> moves_;
  std::span<const Share::Chunks> chunks_;
  std::span<const Share::Kernel> kernels_;
};

}  // namespace troupe
