#include "core/plan/replica_table.hpp"

#include "core/base/random.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace troupe {

void ReplicaTable::add(OpId tensor, MemoryId memory, ReplicaId replica) {
  if (4 * (used_ + 1) > 3 * entries_.size()) make_room();
  entries_[place_of(tensor, memory)] = {tensor, memory, replica};
  ++used_;
}

std::size_t ReplicaTable::place_of(OpId tensor, MemoryId memory) const {
  // Replicas of neighbouring tensors in neighbouring memories are close to each other: planning
  // mostly looks them up one after the other, so that they are in the cache then.
  const std::uint64_t block = mix((std::uint64_t{tensor.value / 4} << 32) | memory.value / 4);
  const std::uint64_t in_block = tensor.value % 4 * 4 + memory.value % 4;
  for (std::size_t place = (block * 16 + in_block) & mask_;; place = (place + 1) & mask_) {
    const Entry& entry = entries_[place];
    if (!entry.replica || (entry.tensor == tensor && entry.memory == memory)) return place;
  }
}

// Afterwards at most half of the entries are in use.
void ReplicaTable::make_room() {
  const auto is_kept = [this](const Entry& e) { return e.replica && e.tensor >= first_; };
  used_ = static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), is_kept));
  const std::size_t capacity = std::max(capacity_min, std::bit_ceil(2 * used_));
  mask_ = capacity - 1;
  const auto before = std::exchange(entries_, BigVector<Entry>(capacity));
  for (const Entry& entry : before) {
    if (is_kept(entry)) entries_[place_of(entry.tensor, entry.memory)] = entry;
  }
}

}  // namespace troupe
