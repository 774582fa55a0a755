// The replicas of tensors in memories other than the one in which they were made.
#pragma once

#include "core/base/big_vector.hpp"
#include "core/base/id.hpp"
#include "core/graph/replica.hpp"

#include <cstddef>

namespace troupe {

// A hash table with linear probing, since a plan may look up and add millions of replicas.
class ReplicaTable {
 public:
  // Returns none if the table has no replica of `tensor` in `memory`. O(1) on average.
  ReplicaId find(OpId tensor, MemoryId memory) const {
    return entries_[place_of(tensor, memory)].replica;
  }

  // The table must not contain a replica of `tensor` in `memory`. Amortised O(1) on average.
  void add(OpId tensor, MemoryId memory, ReplicaId replica);

  // Forgets all tensors before `tensor`. They must not be looked up any more. O(1): the table drops
  // their entries instead of growing.
  void forget_before(OpId tensor) { first_ = tensor; }

  // The number of entries that the table has memory for.
  std::size_t capacity() const { return entries_.size(); }

 private:
  struct Entry {
    OpId tensor;
    MemoryId memory;
    ReplicaId replica;  // none: the entry is empty
  };
  static constexpr std::size_t capacity_min = 16;

  // The place of the entry, or the empty one at which it is to be added.
  std::size_t place_of(OpId tensor, MemoryId memory) const;
  void make_room();

  // At most three quarters of the entries are in use; their number is a power of two.
  BigVector<Entry> entries_{capacity_min};
  std::size_t mask_ = capacity_min - 1;
  std::size_t used_ = 0;  // entries of forgotten tensors included
  OpId first_{0};
};

}  // namespace troupe
