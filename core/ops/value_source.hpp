// Values that no op computes: those of a file, or of the user's own memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

// The values of one tensor, row-major. They must not change while a graph uses them: a run reads
// them in every scenario that needs them, and once more when it compares results. Thread-safe.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  // Copies the bytes from `offset` on into `out`. All of them must be within the tensor. Blocks.
  // Throws a run Error if they can't be read.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

}  // namespace troupe
