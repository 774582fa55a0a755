// The tensors of one node: which memory holds which, their bytes, and how many readers remain.
#pragma once

#include "core/backend/buffer_pool.hpp"
#include "core/backend/digest.hpp"
#include "core/backend/scratch_folder.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"
#include "core/base/id.hpp"
#include "core/base/prefetch.hpp"
#include "core/base/shared_table.hpp"
#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/ops/tensor_type.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

// Accounting for every memory; buffers too where it is backed (a real run). A buffer in RAM of a
// page or more is page-aligned and its capacity a multiple of 4096 bytes, so that direct I/O can
// use it; a tensor in storage is a file. Released buffers are reused for tensors of like size.
//
// Bytes are counted as the tensor's own, not its capacity, and only where a memory can't hold all
// replicas announced for it at once: no other can be full. A memory of size 0 takes as much as
// there is: what the file system has free for backed storage, else any amount.
//
// install(), add_readers(), forget_before() and clear() are for one thread, and the last one needs
// quiet: nothing else may be called meanwhile. All else may be called from any thread, for
// different replicas at once, by whoever that thread has told of them.
class MemoryStore {
 public:
  enum class Backing { accounted, buffers };

  // Storage directories are made here (a fresh folder of this process inside each); throws a usage
  // Error where one can't be.
  MemoryStore(const Machine& machine, Backing backing);
  ~MemoryStore();  // removes its folders
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  // Announces the replicas of a window and returns the id of the first; the rest follow in order.
  // While others are in use, all must fit (see has_room) or none be limited.
  ReplicaId install(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types);
  // Where backed, takes and touches the buffers that these replicas may need at once, so that no
  // page fault falls into a timing: of each type `at_once` (empty: one for each replica) in RAM, as
  // far as their memory's size and the host's memory go (acquire() makes the others). Throws a run
  // Error where the host has not enough memory for even one of each size. Ends early where
  // `keep_going`, which is asked about every hundredth of a second, says no.
  void reserve_buffers(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types,
                       std::span<const std::uint64_t> at_once = {},
                       const std::function<bool()>& keep_going = {});
  // One more item will read the replica, which must have a reader yet that isn't done.
  void add_readers(ReplicaId r, std::uint32_t more) {
    at(r).readers.fetch_add(more, std::memory_order_relaxed);
  }
  // Whether every memory can hold these replicas besides all that is announced.
  bool has_room(std::span<const ReplicaSpec> replicas, std::span<const TensorType> types) const;
  // Replicas older than `first` are gone: none is held, and none will be asked for.
  void forget_before(ReplicaId first);

  // Takes a buffer for a replica that is about to be written. Throws a run Error that says needed
  // and available where the memory is full.
  void acquire(ReplicaId r) { acquire(r, nullptr); }
  // With the calling thread's cache of buffers. A thread that acquires or releases many needs one.
  void acquire(ReplicaId r, BufferCache& cache) { acquire(r, &cache); }
  // One reader is done; the last one frees the buffer, and before that takes the digest of a
  // replica that is to leave one, which blocks. A replica announced without readers is held until
  // clear(). Throws a run Error where the file to take the digest of can't be read.
  void release(ReplicaId r) {
    if (is_last_reader(at(r))) free_replica(r, nullptr);
  }
  void release(ReplicaId r, BufferCache& cache) {
    if (is_last_reader(at(r))) free_replica(r, &cache);
  }
  // Frees and forgets every replica, for the next scenario (ids start anew); buffers stay pooled.
  void clear();

  const TensorType& type(ReplicaId r) const { return kind_of(at(r)).type; }
  MemoryId memory(ReplicaId r) const { return kind_of(at(r)).memory; }
  // RAM, backed and acquired; else null.
  std::byte* data(ReplicaId r) const { return values(at(r)); }
  // Both at once.
  struct View {
    const TensorType& type;
    std::byte* data;
  };
  View view(ReplicaId r) const {
    const Replica& replica = at(r);
    return {kind_of(replica).type, values(replica)};
  }
  // Of one that the calling thread will release. What that writes is fetched into its cache now:
  // else, where other threads read the replica as well, release() would wait for it.
  View view_to_release(ReplicaId r) const {
    prefetch_to_write(&at(r));
    return view(r);
  }
  std::filesystem::path file(ReplicaId r) const;  // storage and backed; else empty
  // Acquired and not yet freed.
  bool held(ReplicaId r) const { return at(r).held() != nullptr; }

  // The values, from RAM or from its file, into `out` (resized). Throws a run Error.
  void read(ReplicaId r, std::vector<std::byte>& out) const;
  // Backed, announced to leave it, and released by its last reader.
  const Digest& digest(ReplicaId r) const;

  BufferPool& pool() { return pool_; }

  // False: nothing would come of acquiring and releasing replicas there, since there are no buffers
  // and all announced ones fit. Stays so until the next install().
  bool is_tracked(MemoryId m) const {
    return backing_ == Backing::buffers || memories_[m.index()].is_counted;
  }

  std::uint64_t bytes_used(MemoryId m) const;  // by all that is held; needs quiet
  std::size_t replica_count() const { return count_ - first_; }

  // TROUPE_ASSERTs that the bytes in use are those of the replicas held. Needs quiet.
  void check_invariants() const;

 private:
  static constexpr std::uint32_t kind_mask = (1U << 30) - 1;
  // A run has as many of these as ops and transfers: four to a cache line.
  struct Replica {
    std::atomic<std::uint32_t> readers{0};
    std::uint32_t kind : 30 = 0;
    bool is_private : 1 = false;
    bool leaves_digest : 1 = false;
    // Its buffer, or `no_buffer` where it is held without one; null: not held.
    std::atomic<std::byte*> buffer{nullptr};

    std::byte* held() const { return buffer.load(std::memory_order_acquire); }
  };
  static inline std::byte no_buffer[1] = {};

  struct Node {
    std::string name;
    MemoryKind kind = MemoryKind::ram;
    std::uint64_t size_bytes = 0;  // the most it takes
    std::optional<ScratchFolder> folder = {};
    std::uint64_t announced = 0;  // bytes of all replicas
    bool is_counted = false;      // they are more than it takes
    std::atomic<std::uint64_t> used{0};
  };
  // Replicas of one type in one memory.
  struct Kind {
    TensorType type;
    MemoryId memory;
    Node* node = nullptr;  // of the memory
    std::uint64_t bytes = 0;
    std::uint64_t capacity = 0;  // of a buffer; 0: has none
  };
  // Replicas stay where they are while more are installed: atomics can't be moved.
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

  // Counts one reader less.
  static bool is_last_reader(Replica& replica) {
    if (replica.is_private) {
      const std::uint32_t left = replica.readers.load(std::memory_order_relaxed) - 1;
      replica.readers.store(left, std::memory_order_relaxed);
      return left == 0;
    }
    // Whoever sees one reader is that reader, so nobody else counts. Acquire and release: the other
    // readers have finished with the buffer before the last one frees it.
    if (replica.readers.load(std::memory_order_acquire) == 1) return true;
    const std::uint32_t before = replica.readers.fetch_sub(1, std::memory_order_acq_rel);
    TROUPE_ASSERT(before > 0);
    return before == 1;
  }
  std::uint32_t intern(const TensorType& type, MemoryId memory, std::size_t likely);
  void add_block();
  void add_digests(ReplicaId first, std::span<const ReplicaSpec> replicas);
  Digest take_digest(ReplicaId r) const;
  void acquire(ReplicaId r, BufferCache* cache);
  void free_replica(ReplicaId r, BufferCache* cache);
  void count(Node& node, std::uint64_t bytes);
  void free_buffer(ReplicaId r, BufferCache* cache);
  Error unreadable(ReplicaId r) const;

  Backing backing_;
  std::deque<Node> memories_;
  SharedTable<Kind> kinds_;
  // By type and memory. Without it, windows that take turns in more kinds than are looked back at
  // would add to them for ever.
  std::unordered_multimap<std::uint64_t, std::uint32_t> kinds_by_hash_;
  SharedTable<Block*> blocks_;
  SharedTable<DigestBlock*> digests_;  // where backed; null: nobody leaves one
  std::vector<std::unique_ptr<Block>> own_blocks_;
  std::vector<Block*> free_blocks_;
  std::vector<std::unique_ptr<DigestBlock>> own_digests_;
  std::size_t first_ = 0;  // the oldest replica that isn't forgotten
  std::size_t count_ = 0;  // announced since clear()
  BufferPool pool_;
};

}  // namespace troupe
