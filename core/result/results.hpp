// Where the results of a run are when it is over: in this process, or on other nodes.
#pragma once

#include "core/memory/memory_store.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe {

class Results {
 public:
  virtual ~Results() = default;
  // Whether a result has these values: that is what its digest says if it isn't kept. Blocks.
  // Throws a run Error if it can't be read.
  virtual bool is_equal(ReplicaId result, bool is_kept, std::span<const std::byte> values) = 0;
  // The values of a result that is kept. They stay where they are until the next call. Blocks.
  // Throws likewise.
  virtual std::span<const std::byte> values(ReplicaId result) = 0;
};

// The results in a store of this process, which must outlive this.
class StoredResults final : public Results {
 public:
  explicit StoredResults(const MemoryStore& store) : store_(store) {}
  bool is_equal(ReplicaId result, bool is_kept, std::span<const std::byte> values) override;
  std::span<const std::byte> values(ReplicaId result) override;

 private:
  const MemoryStore& store_;
  std::vector<std::byte> from_file_;
};

}  // namespace troupe
