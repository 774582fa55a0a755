#include "core/memory/memory_store.hpp"

#include "core/base/assert.hpp"
#include "core/base/buffer_capacity.hpp"
#include "core/base/error.hpp"
#include "core/base/random.hpp"
#include "core/base/saturating.hpp"
#include "core/base/units.hpp"
#include "core/memory/host_space.hpp"
#include "core/memory/shared_buffer.hpp"
#include "core/memory/storage_space.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace troupe {

MemoryStore::MemoryStore(const Machine& machine, Backing backing, Counting counting, NodeId self,
                         const MakeSpace& make_space)
    : backing_(backing), counting_(counting) {
  constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t m = 0; m < machine.memories.size(); ++m) {
    const Memory& memory = machine.memories[m];
    MemoryState& state = memories_.emplace_back();
    state.name = memory.name;
    state.is_elsewhere = self && memory.node != self;
    state.size_bytes = state.is_elsewhere ? unlimited : memory.size_bytes;
    if (backing == Backing::buffers && !state.is_elsewhere) {
      if (make_space) state.space = make_space(machine, MemoryId::at(m));
      if (state.space == nullptr) {
        state.space = memory.kind == MemoryKind::storage ? make_storage_space(memory)
                                                         : make_host_space(pool_);
      }
      if (state.size_bytes == 0) {
        state.size_bytes =
            std::max(state.space->free_bytes().value_or(unlimited), std::uint64_t{1});
      }
    }
    if (state.size_bytes == 0) state.size_bytes = unlimited;
  }
}

MemoryStore::~MemoryStore() = default;

ReplicaId MemoryStore::install(std::span<const ReplicaSpec> replicas,
                               std::span<const TensorType> types) {
  TROUPE_ASSERT(count_ + replicas.size() < ReplicaId::none_value);
  const ReplicaId first = ReplicaId::at(count_);
  while (blocks_.size() * block_size < count_ + replicas.size()) add_block();
  std::uint32_t kind = 0;
  const ReplicaSpec* before = nullptr;  // consecutive replicas mostly have the same kind
  for (const ReplicaSpec& spec : replicas) {
    TROUPE_ASSERT(spec.memory.index() < memories_.size());
    if (before == nullptr || before->type != spec.type || before->memory != spec.memory) {
      kind = intern(types[spec.type], spec.memory, kind);
    }
    before = &spec;
    MemoryState& state = *kinds_[kind].state;
    if (counting_ == Counting::announced) {
      state.used.fetch_add(kinds_[kind].bytes, std::memory_order_relaxed);
    } else {
      state.announced = add_sat(state.announced, kinds_[kind].bytes);
    }
    const ReplicaId id = ReplicaId::at(count_++);
    Replica& r = at(id);
    r.kind = kind & kind_mask;
    r.is_adopted = false;
    r.is_private = spec.is_private;
    r.leaves_digest = spec.leaves_digest && backing_ == Backing::buffers;
    r.is_handed_over = false;
    r.readers.store(spec.readers, std::memory_order_relaxed);
    r.buffer.store(nullptr, std::memory_order_relaxed);
  }
  if (backing_ == Backing::buffers) add_digests(first, replicas);
  for (std::size_t m = 0; m < memories_.size(); ++m) {
    MemoryState& state = memories_[m];
    if (state.is_counted || state.announced <= state.size_bytes) continue;
    state.is_counted = true;
    state.used = bytes_used(MemoryId::at(m));
  }
  return first;
}

void MemoryStore::reset_blocks() {
  blocks_.clear();
  digests_.clear();
  own_digests_.clear();
  free_blocks_.clear();
  for (const auto& block : own_blocks_) free_blocks_.push_back(block.get());
}

void MemoryStore::add_block() {
  if (free_blocks_.empty()) {
    own_blocks_.push_back(std::make_unique<Block>());
    free_blocks_.push_back(own_blocks_.back().get());
  }
  blocks_.push_back(free_blocks_.back());
  free_blocks_.pop_back();
}

// Allocates a block of digests for each block in which a replica leaves one.
void MemoryStore::add_digests(ReplicaId first, std::span<const ReplicaSpec> replicas) {
  while (digests_.size() < blocks_.size()) digests_.push_back(nullptr);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::size_t block = (first.index() + i) / block_size;
    if (!replicas[i].leaves_digest || digests_[block] != nullptr) continue;
    own_digests_.push_back(std::make_unique<DigestBlock>());
    digests_.replace(block, own_digests_.back().get());
  }
}

std::uint64_t MemoryStore::bytes_available(MemoryId m) const {
  const MemoryState& state = memories_[m.index()];
  const std::uint64_t taken = counting_ == Counting::announced
                                  ? state.used.load(std::memory_order_relaxed)
                                  : state.announced;
  return state.size_bytes - std::min(state.size_bytes, taken);
}

std::size_t MemoryStore::first_without_room(std::span<const ReplicaSpec> replicas,
                                            std::span<const TensorType> types) const {
  std::vector<std::uint64_t> available(memories_.size());
  for (std::size_t m = 0; m < memories_.size(); ++m)
    available[m] = bytes_available(MemoryId::at(m));
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::uint64_t bytes = types[replicas[i].type].bytes();
    std::uint64_t& left = available[replicas[i].memory.index()];
    if (bytes > left) return i;
    left -= bytes;
  }
  return replicas.size();
}

void MemoryStore::forget_before(ReplicaId first) {
  TROUPE_ASSERT(first.index() <= count_);
  for (; first_ < first.index(); ++first_) {
    const Replica& replica = at(ReplicaId::at(first_));
    TROUPE_ASSERT(replica.held() == nullptr);
    const Kind& kind = kind_of(replica);
    if (counting_ == Counting::acquired) kind.state->announced -= kind.bytes;
    if (first_ % block_size + 1 == block_size) free_blocks_.push_back(blocks_[first_ / block_size]);
  }
}

// Searches the kinds added last first: the wanted kind is mostly one of them.
std::uint32_t MemoryStore::intern(const TensorType& type, MemoryId memory, std::size_t likely) {
  const auto is_it = [&](const Kind& k) { return k.memory == memory && k.type == type; };
  if (likely < kinds_.size() && is_it(kinds_[likely])) return static_cast<std::uint32_t>(likely);
  constexpr std::size_t lookback = 8;
  const std::size_t oldest = kinds_.size() - std::min(kinds_.size(), lookback);
  for (std::size_t i = kinds_.size(); i-- > oldest;) {
    if (is_it(kinds_[i])) return static_cast<std::uint32_t>(i);
  }
  const std::uint64_t hash = mix(hash_of(type) ^ memory.value);
  const auto [begin, end] = kinds_by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    if (is_it(kinds_[known->second])) return known->second;
  }
  TROUPE_ASSERT(kinds_.size() < kind_mask);
  kinds_by_hash_.emplace(hash, static_cast<std::uint32_t>(kinds_.size()));
  MemoryState& state = memories_[memory.index()];
  BufferPool* const pool = state.space != nullptr ? state.space->pool() : nullptr;
  const std::uint64_t bytes = type.bytes();
  kinds_.push_back({.type = type,
                    .memory = memory,
                    .state = &state,
                    .bytes = bytes,
                    .capacity = pool != nullptr ? buffer_capacity(bytes) : 0,
                    .pool = pool});
  return static_cast<std::uint32_t>(kinds_.size() - 1);
}

void MemoryStore::reserve_buffers(std::span<const ReplicaSpec> replicas,
                                  std::span<const TensorType> types,
                                  std::span<const std::uint64_t> at_once,
                                  const std::function<bool()>& keep_going) {
  if (backing_ != Backing::buffers) return;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> in_memory;  // by memory, bytes
  auto slot = in_memory.end();  // consecutive replicas mostly have the same slot
  for (const ReplicaSpec& spec : replicas) {
    const MemoryState& state = memories_[spec.memory.index()];
    if (state.space == nullptr || spec.is_adopted) continue;
    const std::pair key(spec.memory.value, types[spec.type].bytes());
    if (slot == in_memory.end() || slot->first != key) slot = in_memory.try_emplace(key, 0).first;
    ++slot->second;
  }
  using Counts = std::map<std::uint64_t, std::uint64_t>;  // of buffers, by capacity
  Counts at_once_by_capacity;
  for (std::size_t t = 0; t < at_once.size(); ++t) {
    if (at_once[t] == 0) continue;  // of a session's types, most
    at_once_by_capacity[buffer_capacity(types[t].bytes())] += at_once[t];
  }
  std::map<BufferPool*, Counts> wanted;
  std::map<MemorySpace*, std::vector<MemorySpace::Need>> wanted_apart;  // where there is no pool
  for (const auto& [key, count] : in_memory) {
    const auto [memory, size] = key;
    MemorySpace& space = *memories_[memory].space;
    const std::uint64_t fitting = std::min(count, memories_[memory].size_bytes / size);
    if (BufferPool* const pool = space.pool()) {
      wanted[pool][buffer_capacity(size)] += fitting;
    } else {
      const std::uint64_t limit =
          at_once.empty() ? fitting : at_once_by_capacity[buffer_capacity(size)];
      wanted_apart[&space].push_back({size, std::min(fitting, limit)});
    }
  }
  for (const auto& [space, needs] : wanted_apart) space->reserve(needs);
  for (const auto& [pool, by_capacity] : wanted) {
    std::vector<BufferPool::Need> needs;
    needs.reserve(by_capacity.size());
    for (const auto& [capacity, count] : by_capacity) {
      needs.push_back(
          {capacity, at_once.empty() ? count : std::min(count, at_once_by_capacity[capacity])});
    }
    pool->reserve(needs, keep_going);
  }
}

BufferPool& MemoryStore::pool(MemoryId m) {
  const MemoryState& state = memories_[m.index()];
  BufferPool* const own = state.space != nullptr ? state.space->pool() : nullptr;
  return own != nullptr ? *own : *pool_;
}

void MemoryStore::acquire(ReplicaId r, BufferCache* cache) {
  Replica& replica = at(r);
  TROUPE_ASSERT(replica.buffer.load(std::memory_order_relaxed) == nullptr);
  const Kind& kind = kind_of(replica);
  MemoryState& state = *kind.state;
  if (state.is_counted) count(state, kind.bytes);
  std::byte* buffer = no_buffer;
  if (state.space != nullptr) {
    try {
      if (kind.capacity == 0) {
        buffer = state.space->take(r, kind.bytes);
      } else {
        buffer = cache != nullptr ? cache->take(kind.capacity) : kind.pool->take(kind.capacity);
      }
    } catch (...) {
      if (state.is_counted) state.used.fetch_sub(kind.bytes, std::memory_order_relaxed);
      throw;
    }
  }
  replica.buffer.store(buffer, std::memory_order_release);
}

bool MemoryStore::take_over(ReplicaId r, const std::shared_ptr<const std::byte>& values) {
  Replica& replica = at(r);
  const Kind& kind = kind_of(replica);
  TROUPE_ASSERT(replica.held() == nullptr);
  if (kind.pool == nullptr || !is_shared_buffer(values, kind.pool, kind.capacity)) return false;
  if (kind.state->is_counted) count(*kind.state, kind.bytes);
  replica.buffer.store(troupe::take_over(values), std::memory_order_release);
  return true;
}

void MemoryStore::adopt(ReplicaId r, std::shared_ptr<const std::byte> values) {
  Replica& replica = at(r);
  const Kind& kind = kind_of(replica);
  TROUPE_ASSERT(kind.capacity > 0 && replica.held() == nullptr);
  if (kind.state->is_counted) count(*kind.state, kind.bytes);
  // Nobody writes to a tensor that has been made.
  auto* const buffer = const_cast<std::byte*>(values.get());
  {
    const std::lock_guard lock(adopting_);
    adopted_.emplace(buffer, std::move(values));
  }
  replica.is_adopted = true;
  replica.buffer.store(buffer, std::memory_order_release);
}

void MemoryStore::drop_adopted(const std::byte* buffer) {
  std::shared_ptr<const std::byte> values;  // dropped last, without the lock
  const std::lock_guard lock(adopting_);
  const auto found = adopted_.find(buffer);
  values = std::move(found->second);
  adopted_.erase(found);
}

void MemoryStore::write(ReplicaId r, std::span<const std::byte> values, std::uint64_t offset) {
  const Kind& kind = kind_of(at(r));
  TROUPE_ASSERT(offset <= kind.bytes && values.size() <= kind.bytes - offset);
  kind.state->space->write(held_by(kind, at(r), r), offset, values);
}

bool MemoryStore::hand_over(ReplicaId input, ReplicaId output) {
  Replica& from = at(input);
  Replica& to = at(output);
  // If one reader is left, it is the caller, and nothing else uses the replica. Acquire orders all
  // accesses of other readers to the buffer before those of the caller.
  if (from.readers.load(std::memory_order_acquire) != 1) return false;
  if (from.kind != to.kind || from.leaves_digest || from.is_adopted) return false;
  if (kind_of(from).state->space != nullptr && values(from) == nullptr) return false;  // in a file
  TROUPE_ASSERT(from.held() != nullptr && to.buffer.load(std::memory_order_relaxed) == nullptr);
  from.is_handed_over = true;
  to.buffer.store(from.held(), std::memory_order_release);
  return true;
}

// Like release(), orders what this reader did before what the last one does.
bool MemoryStore::release_unless_last(ReplicaId r) {
  TROUPE_ASSERT(!at(r).is_private);
  std::atomic<std::uint32_t>& readers = at(r).readers;
  std::uint32_t count = readers.load(std::memory_order_relaxed);
  while (count > 1) {
    if (readers.compare_exchange_weak(count, count - 1, std::memory_order_release)) return true;
  }
  return false;
}

void MemoryStore::count(MemoryState& state, std::uint64_t bytes) {
  std::uint64_t used = state.used.load(std::memory_order_relaxed);
  do {
    if (bytes > state.size_bytes - used) {
      throw run_error(fmt::format("memory '{}' is full: {} needed, {} of {} available", state.name,
                                  format_bytes(bytes), format_bytes(state.size_bytes - used),
                                  format_bytes(state.size_bytes)),
                      "keep fewer tensors at once, or make them smaller");
    }
  } while (!state.used.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

void MemoryStore::free_replica(ReplicaId r, BufferCache* cache) {
  Replica& replica = at(r);
  if (replica.leaves_digest) {
    (*digests_[r.index() / block_size])[r.index() % block_size] = take_digest(r);
  }
  free_buffer(r, cache);
}

Digest MemoryStore::take_digest(ReplicaId r) const {
  const Kind& kind = kind_of(at(r));
  return kind.state->space->digest(held_by(kind, at(r), r));
}

void MemoryStore::free_buffer(ReplicaId r, BufferCache* cache) {
  Replica& replica = at(r);
  std::byte* const buffer = replica.held();
  TROUPE_ASSERT(buffer != nullptr);
  const Kind& kind = kind_of(replica);
  MemoryState& state = *kind.state;
  if (replica.is_handed_over) {
    // The other replica frees the buffer.
  } else if (kind.capacity == 0) {
    if (state.space != nullptr) state.space->give(held_by(kind, replica, r));
  } else if (replica.is_adopted) {
    drop_adopted(buffer);
  } else if (cache != nullptr && cache->is_of(*kind.pool)) {
    cache->give(kind.capacity, buffer);
  } else {
    kind.pool->give(kind.capacity, buffer);
  }
  tokens_.forget(r);
  replica.buffer.store(nullptr, std::memory_order_release);
  if ((state.is_counted && !replica.is_handed_over) || counting_ == Counting::announced) {
    state.used.fetch_sub(kind.bytes, std::memory_order_relaxed);
  }
}

void MemoryStore::keep_only(std::span<const Kept> kept) {
  std::vector<bool> is_kept(count_, false);
  for (const auto& [r, readers] : kept) {
    if (r.index() >= count_) throw run_error(fmt::format("there is no tensor {}", r.value));
    if (memories_[memory(r).index()].is_elsewhere) continue;
    if (!held(r)) {
      if (is_tracked(memory(r))) throw run_error(fmt::format("tensor {} isn't held", r.value));
      at(r).buffer.store(no_buffer, std::memory_order_relaxed);
    }
    is_kept[r.index()] = true;
    at(r).is_private = false;
    at(r).readers.store(readers, std::memory_order_relaxed);
  }
  for (std::size_t i = first_; i < count_; ++i) {
    if (!is_kept[i] && held(ReplicaId::at(i))) free_buffer(ReplicaId::at(i), nullptr);
  }
}

void MemoryStore::clear() {
  for (std::size_t i = first_; i < count_; ++i) {
    if (held(ReplicaId::at(i))) free_buffer(ReplicaId::at(i), nullptr);
  }
  tokens_.clear();
  first_ = count_ = 0;
  kinds_.clear();
  kinds_by_hash_.clear();
  reset_blocks();
  for (MemoryState& state : memories_) {
    TROUPE_ASSERT(state.used == 0);
    state.announced = 0;
    state.is_counted = false;
  }
}

void MemoryStore::renumber(std::span<const ReplicaId> kept) {
  struct Moved {
    std::uint32_t kind;
    bool is_adopted;
    std::byte* buffer;
  };
  std::vector<Moved> moved;
  moved.reserve(kept.size());
  for (const ReplicaId r : kept) {
    // Ids only become smaller, and ascend: no file is in the way.
    const ReplicaId to = ReplicaId::at(moved.size());
    const Kind& kind = kind_of(at(r));
    if (kind.state->space != nullptr && to != r) {
      kind.state->space->renumber(held_by(kind, at(r), r), to);
    }
    moved.push_back({at(r).kind, at(r).is_adopted, at(r).held()});
    at(r).buffer.store(nullptr, std::memory_order_relaxed);
  }
  for (std::size_t i = first_; i < count_; ++i) TROUPE_ASSERT(!held(ReplicaId::at(i)));
  tokens_.clear();
  first_ = 0;
  count_ = kept.size();
  reset_blocks();
  while (blocks_.size() * block_size < count_) add_block();
  for (MemoryState& state : memories_) state.announced = 0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    Replica& r = at(ReplicaId::at(i));
    r.kind = moved[i].kind & kind_mask;
    r.is_adopted = moved[i].is_adopted;
    r.is_private = false;
    r.leaves_digest = false;
    r.is_handed_over = false;
    r.readers.store(1, std::memory_order_relaxed);
    r.buffer.store(moved[i].buffer, std::memory_order_relaxed);
    if (counting_ == Counting::acquired) kind_of(r).state->announced += kind_of(r).bytes;
  }
}

std::filesystem::path MemoryStore::file(ReplicaId r) const {
  const MemoryState& state = *kind_of(at(r)).state;
  return state.space != nullptr ? state.space->file(r) : std::filesystem::path{};
}

void MemoryStore::read(ReplicaId r, std::span<std::byte> out) const {
  TROUPE_ASSERT(backing_ == Backing::buffers && held(r));
  const Kind& kind = kind_of(at(r));
  TROUPE_ASSERT(out.size() == kind.bytes);
  kind.state->space->read(held_by(kind, at(r), r), out.data());
}

const Digest& MemoryStore::digest(ReplicaId r) const {
  TROUPE_ASSERT(at(r).leaves_digest && !held(r));
  return (*digests_[r.index() / block_size])[r.index() % block_size];
}

std::uint64_t MemoryStore::bytes_used(MemoryId m) const {
  std::uint64_t used = 0;
  for (std::size_t i = first_; i < count_; ++i) {
    const Replica& replica = at(ReplicaId::at(i));
    const bool has_bytes = replica.held() != nullptr && !replica.is_handed_over;
    if (kind_of(replica).memory == m && has_bytes) used += kind_of(replica).bytes;
  }
  return used;
}

void MemoryStore::check_invariants() const {
  for (std::size_t m = 0; m < memories_.size(); ++m) {
    const MemoryState& state = memories_[m];
    const std::uint64_t used = bytes_used(MemoryId::at(m));
    if (counting_ == Counting::acquired) TROUPE_ASSERT(state.used == (state.is_counted ? used : 0));
    TROUPE_ASSERT(used <= state.size_bytes);
  }
}

}  // namespace troupe
