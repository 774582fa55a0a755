// Values that no op computes: those of a file, or of the user's own memory.
#pragma once

#include "core/ops/tensor_type.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe {

// A tensor of a file, for a process that opens the file itself.
struct FileLocation {
  std::string path;              // absolute
  std::string tensor;            // its name; empty in a file of one array
  TensorType type;               // that the tensor must have
  std::uint64_t file_bytes = 0;  // that the file must have; 0: not known
};

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
  // Where the values are if they are those of a file.
  virtual std::optional<FileLocation> file() const { return std::nullopt; }
};

}  // namespace troupe
