// Values that no op computes: those of a file, or of the user's own memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace troupe {

// The values of one tensor, row-major. They must not change while a graph uses them: a run reads
// them in every scenario that needs them, and once more when it compares results. Thread-safe.
class ValueSource {
 public:
  virtual ~ValueSource() = default;
  // The values in memory, if they are there already, at a multiple of kernel_alignment; else null.
  virtual std::shared_ptr<const std::byte> existing() const { return nullptr; }
  // Copies the bytes from `offset` on into `out`, which may be that part of existing(): then makes
  // sure that they can be read without waiting. All must be within the tensor. Blocks. Throws a run
  // Error if they can't be read.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

}  // namespace troupe
