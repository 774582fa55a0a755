// Stores the tensors of one machine: the memory of each replica, its buffer, and its remaining
// readers.
#pragma once

#include "core/base/assert.hpp"
#include "core/base/error.hpp"
#include "core/base/id.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/shared_table.hpp"
#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/buffer_pool.hpp"
#include "core/memory/digest.hpp"
#include "core/memory/memory_space.hpp"
#include "core/memory/token_table.hpp"
#include "core/ops/tensor_type.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

// Counts the bytes used in each memory. With Backing::buffers (runs that compute values) also gets
// room for them from the memory's space: a tensor in RAM is a buffer of a pool, a tensor in storage
// is a file. A buffer in RAM of a page or more is page-aligned, with a capacity that is a multiple
// of 4096 bytes, as direct I/O needs. Released buffers are reused for tensors of the same capacity.
//
// Also knows the tokens of work that was issued: which writes a replica, and has not ended yet.
//
// The bytes counted are those of the tensors, not the capacity of their buffers. They are counted
// only in memories that can't hold all announced replicas at once; no other memory can become full.
// A memory of size 0 is limited by what its space says, with buffers: the free bytes of its file
// system if it is storage. Else it is unlimited.
//
// Call install(), add_readers(), forget_before() and clear() from one thread only; during clear()
// no other function may run. All other functions are thread-safe for different replicas, and
// release() and release_unless_last() also for the same one unless it is private. A thread must
// have learned of a replica, directly or not, from the thread that installed it.
class MemoryStore {
 public:
  enum class Backing { accounted, buffers };
  // Which bytes count: those of the replicas that are acquired, in memories that can't hold all
  // announced ones; or, in every memory, those of the replicas that are announced and not yet
  // freed. The second is for a store that gets new replicas as long as others are freed.
  enum class Counting { acquired, announced };

  // With buffers, makes the spaces of memories: `make_space` those for which it doesn't return
  // null, else it is the host's, or that of storage. Throws a usage Error if one can't be made.
  // With `self`, holds the tensors of this node's memories only.
  MemoryStore(const Machine& machine, Backing backing, Counting counting = Counting::acquired,
              NodeId self = {}, const MakeSpace& make_space = {});
  ~MemoryStore();
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  // Announces the replicas of a window. Returns the id of the first; the others are numbered
  // consecutively. While earlier replicas are in use, has_room(replicas, types) must be true,
  // unless every memory is unlimited.
  ReplicaId install(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types);
  // Allocates and touches the buffers that these replicas may need at once, so that no page fault
  // falls into a timed op. Does nothing without Backing::buffers. Reserves `at_once` buffers of
  // each type in RAM (if empty: one for each replica), but not more than the size of the memory and
  // the host's memory allow; acquire() allocates the others. Throws a run Error if the host has no
  // memory for even one buffer of each size. Blocks. Calls `keep_going` about every 10 ms, and ends
  // early if it returns false.
  void reserve_buffers(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types,
                       std::span<const std::uint64_t> at_once = {},
                       const std::function<bool()>& keep_going = {});
  // Adds `more` readers to a replica, which must still have a reader.
  void add_readers(ReplicaId r, std::uint32_t more) {
    at(r).readers.fetch_add(more, std::memory_order_relaxed);
  }
  // Whether every memory can hold these replicas in addition to all replicas announced.
  bool has_room(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types) const {
    return first_without_room(replicas, types) == replicas.size();
  }
  // The index of the first of these replicas that doesn't fit; their number if all do.
  std::size_t first_without_room(std::span<const ReplicaSpec> replicas,
                                 std::span<const TensorType> types) const;
  // What a memory can hold in addition to all replicas announced.
  std::uint64_t bytes_available(MemoryId m) const;
  // Drops replicas before `first`. They must have been freed, and must not be used again.
  void forget_before(ReplicaId first);

  // Allocates the buffer of a replica. Must be called before the replica is written. Throws a run
  // Error with the bytes needed and available if the memory is full.
  void acquire(ReplicaId r) { acquire(r, nullptr); }
  // Faster with `cache`, which must belong to the calling thread and to the pool of the memory.
  void acquire(ReplicaId r, BufferCache& cache) { acquire(r, &cache); }
  // In place of acquire(): if these values are in a shared_buffer() of the memory's pool, that is
  // the replica's buffer from now on. Returns whether they are.
  bool take_over(ReplicaId r, const std::shared_ptr<const std::byte>& values);
  // In place of acquire(): the replica, which must be in RAM, has these values where they are. They
  // must not change. The pointer is dropped when the replica is freed, on whichever thread does
  // that, or with the store. Needs Backing::buffers.
  void adopt(ReplicaId r, std::shared_ptr<const std::byte> values);
  // Copies values into a replica that is held, from byte `offset` of the tensor on; the part that
  // begins at 0 must come first. Blocks. Throws a run Error if a file can't be written. Needs
  // Backing::buffers.
  void write(ReplicaId r, std::span<const std::byte> values, std::uint64_t offset = 0);
  // For an op that reads `input` and computes in place of it: if that op is the last reader, gives
  // the input's buffer to `output`, as acquire() would give it a new one, and returns true. Until
  // release(), data() is the same for both. Returns false, and does nothing, if `input` has other
  // readers, leaves a digest, was adopted, is in a file, or has another type or memory than
  // `output`.
  bool hand_over(ReplicaId input, ReplicaId output);
  // Removes one reader. If it is the last one, frees the buffer; if the replica leaves a digest,
  // takes the digest first, which blocks. A replica announced without readers is held until
  // clear(). Throws a run Error if the replica's file can't be read for the digest.
  // Faster with `cache`, which must belong to the calling thread; buffers of other pools pass it
  // by.
  void release(ReplicaId r) {
    if (is_last_reader(at(r))) free_replica(r, nullptr);
  }
  void release(ReplicaId r, BufferCache& cache) {
    if (is_last_reader(at(r))) free_replica(r, &cache);
  }
  // Removes one reader unless it is the last one. Returns whether it did. The replica must not be
  // private.
  bool release_unless_last(ReplicaId r);
  TokenTable& tokens() { return tokens_; }
  // Frees every replica but those of `kept`, which get that many readers, whoever they were read by
  // before. For a run that ended early and is to go on: no item may be under way. Throws a run
  // Error if one of them isn't held, in a memory whose replicas must be.
  struct Kept {
    ReplicaId replica;
    std::uint32_t readers = 0;
  };
  void keep_only(std::span<const Kept> kept);
  // Frees and forgets every replica; ids start from 0 again. Buffers stay in the pool.
  void clear();
  // Forgets every replica but those of `kept`, which are in ascending order and get the ids 0, 1, …
  // and one reader each. All others must have been freed. Files are renamed; buffers don't move.
  // No other function may run meanwhile. Throws a run Error if a file can't be renamed.
  void renumber(std::span<const ReplicaId> kept);

  const TensorType& type(ReplicaId r) const { return kind_of(at(r)).type; }
  MemoryId memory(ReplicaId r) const { return kind_of(at(r)).memory; }
  // Returns null unless the replica has a buffer and is held. The host can use it only if the
  // memory's space has a pool; else it is for the devices of the memory.
  std::byte* data(ReplicaId r) const { return values(at(r)); }
  // Its buffer isn't of the pool: nothing may be read behind its end.
  bool is_adopted(ReplicaId r) const { return at(r).is_adopted; }
  // type() and data() together.
  struct View {
    const TensorType& type;
    std::byte* data;
  };
  View view(ReplicaId r) const {
    const Replica& replica = at(r);
    return {kind_of(replica).type, values(replica)};
  }
  // Like view(), for a replica that the calling thread will release. Prefetches the count of
  // readers: release() would otherwise wait for its cache line if other threads read the replica.
  View view_to_release(ReplicaId r) const {
    prefetch_to_write(&at(r));
    return view(r);
  }
  // Whether the host can use data().
  bool is_host_visible(ReplicaId r) const { return kind_of(at(r)).capacity > 0; }
  // The file of a replica in storage; empty in RAM and without buffers.
  std::filesystem::path file(ReplicaId r) const;
  // Acquired and not yet freed.
  bool held(ReplicaId r) const { return at(r).held() != nullptr; }

  // Copies the replica's values into `out`, which is resized. Blocks. Throws a run Error if a file
  // can't be read. Needs Backing::buffers; the replica must be held.
  void read(ReplicaId r, std::vector<std::byte>& out) const {
    out.resize(type(r).bytes());
    read(r, std::span(out));
  }
  // The same; `out` must have the tensor's size.
  void read(ReplicaId r, std::span<std::byte> out) const;
  // The replica must have been announced to leave a digest, and released by its last reader.
  const Digest& digest(ReplicaId r) const;

  // The pool of the host's memories.
  BufferPool& pool() { return *pool_; }
  // That of this memory; the host's if its space has none.
  BufferPool& pool(MemoryId m);

  // If false, acquire() and release() need not be called for replicas of this memory: there are no
  // buffers, and all announced replicas fit; or the memory is elsewhere, and they must not be.
  // Changes with install() and clear() only.
  bool is_tracked(MemoryId m) const {
    const MemoryState& state = memories_[m.index()];
    return !state.is_elsewhere &&
           (backing_ == Backing::buffers || counting_ == Counting::announced || state.is_counted);
  }

  // Bytes of all replicas held. No other function may run meanwhile.
  std::uint64_t bytes_used(MemoryId m) const;
  std::size_t replica_count() const { return count_ - first_; }

  // Asserts that the bytes counted are those of the replicas held. No other function may run
  // meanwhile.
  void check_invariants() const;

 private:
  static constexpr std::uint32_t kind_mask = (1U << 28) - 1;
  // There is one for each op and transfer. Four fit into a cache line.
  struct Replica {
    std::atomic<std::uint32_t> readers{0};
    std::uint32_t kind : 28 = 0;
    bool is_adopted : 1 = false;
    bool is_private : 1 = false;
    bool leaves_digest : 1 = false;
    bool is_handed_over : 1 = false;  // the buffer is that of another replica, too, which frees it
    // `no_buffer` if the replica is held without a buffer; null if it isn't held.
    std::atomic<std::byte*> buffer{nullptr};

    std::byte* held() const { return buffer.load(std::memory_order_acquire); }
  };
  static constexpr std::byte* no_buffer = MemorySpace::nowhere;

  struct MemoryState {
    std::string name;
    std::uint64_t size_bytes = 0;                  // the limit of `used`
    std::unique_ptr<MemorySpace> space = nullptr;  // with buffers, unless they are elsewhere
    bool is_elsewhere = false;  // its tensors are held by another node, or by none
    // Bytes of all replicas announced, by Counting::acquired.
    std::uint64_t announced = 0;
    bool is_counted = false;  // `announced` has exceeded `size_bytes`
    // Bytes of the replicas held, by Counting::acquired, and 0 unless is_counted; else of those
    // announced and not freed.
    std::atomic<std::uint64_t> used{0};
  };
  // Replicas of one type in one memory.
  struct Kind {
    TensorType type;
    MemoryId memory;
    MemoryState* state = nullptr;  // of the memory
    std::uint64_t bytes = 0;
    std::uint64_t capacity = 0;  // of a buffer of `pool`; 0: the space has none
    BufferPool* pool = nullptr;
  };
  // Replicas are stored in blocks because they must not move while others are installed.
  static constexpr std::size_t block_size = 1 << 12;
  using Block = std::array<Replica, block_size>;
  using DigestBlock = std::array<Digest, block_size>;

  Replica& at(ReplicaId r) { return (*blocks_[r.index() / block_size])[r.index() % block_size]; }
  const Replica& at(ReplicaId r) const { return const_cast<MemoryStore*>(this)->at(r); }
  const Kind& kind_of(const Replica& r) const { return kinds_[r.kind]; }
  static std::byte* values(const Replica& r) {
    std::byte* const buffer = r.held();
    return buffer == no_buffer ? nullptr : buffer;
  }

  // Removes one reader. Returns true if it was the last one.
  static bool is_last_reader(Replica& replica) {
    if (replica.is_private) {
      const std::uint32_t left = replica.readers.load(std::memory_order_relaxed) - 1;
      replica.readers.store(left, std::memory_order_relaxed);
      return left == 0;
    }
    // If one reader is left, it is the caller, so no other thread changes the count. Acquire and
    // release order all accesses of other readers to the buffer before the last reader frees it.
    if (replica.readers.load(std::memory_order_acquire) == 1) return true;
    const std::uint32_t before = replica.readers.fetch_sub(1, std::memory_order_acq_rel);
    TROUPE_ASSERT(before > 0);
    return before == 1;
  }
  std::uint32_t intern(const TensorType& type, MemoryId memory, std::size_t likely);
  static MemorySpace::Held held_by(const Kind& kind, const Replica& replica, ReplicaId id) {
    return {.replica = id, .buffer = replica.held(), .bytes = kind.bytes};
  }
  void reset_blocks();
  void add_block();
  void add_digests(ReplicaId first, std::span<const ReplicaSpec> replicas);
  Digest take_digest(ReplicaId r) const;
  void acquire(ReplicaId r, BufferCache* cache);
  void free_replica(ReplicaId r, BufferCache* cache);
  void count(MemoryState& state, std::uint64_t bytes);
  void free_buffer(ReplicaId r, BufferCache* cache);
  void drop_adopted(const std::byte* buffer);

  Backing backing_;
  Counting counting_;
  std::deque<MemoryState> memories_;
  SharedTable<Kind> kinds_;
  // By hash of type and memory. Finds kinds that are too old for the search in intern(), so that a
  // long stream with many types doesn't add the same kind again and again.
  std::unordered_multimap<std::uint64_t, std::uint32_t> kinds_by_hash_;
  SharedTable<Block*> blocks_;
  SharedTable<DigestBlock*> digests_;  // with buffers only; null if no replica of the block has one
  std::vector<std::unique_ptr<Block>> own_blocks_;
  std::vector<Block*> free_blocks_;
  std::vector<std::unique_ptr<DigestBlock>> own_digests_;
  std::size_t first_ = 0;  // the oldest replica that isn't forgotten
  std::size_t count_ = 0;  // announced since clear()
  const std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  TokenTable tokens_;
  std::mutex adopting_;  // guards adopted_
  std::unordered_multimap<const std::byte*, std::shared_ptr<const std::byte>> adopted_;
};

}  // namespace troupe
