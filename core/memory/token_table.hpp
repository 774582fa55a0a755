// Which work that was issued makes a tensor: what its readers must wait for.
#pragma once

#include "core/base/id.hpp"
#include "core/graph/replica.hpp"
#include "core/memory/token.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace troupe {

// Thread-safe.
class TokenTable {
 public:
  // Work that makes the replica, or a part of it, was issued. None: does nothing.
  void add(ReplicaId r, Token token);
  // Appends what a reader of the replica must wait for: of each queue, the last token. Tokens of
  // other replicas stay, even if their queue is the same: their work may fail by itself.
  void append(ReplicaId r, std::vector<Token>& after) const;
  // The replica is freed.
  void forget(ReplicaId r) {
    if (is_used_.load(std::memory_order_relaxed)) erase(r);
  }
  void clear();

 private:
  struct Part {
    mutable std::mutex mutex;
    std::unordered_map<ReplicaId, std::vector<Token>> writers;
  };

  void erase(ReplicaId r);
  Part& part(ReplicaId r) { return parts_[r.index() % parts_.size()]; }
  const Part& part(ReplicaId r) const { return parts_[r.index() % parts_.size()]; }

  std::atomic<bool> is_used_ = false;  // since it was made: most runs issue nothing
  std::array<Part, 16> parts_;
};

}  // namespace troupe
