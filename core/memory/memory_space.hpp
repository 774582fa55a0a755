// How one memory holds tensors: in buffers that the host uses where they are, in buffers of a GPU,
// or in files.
#pragma once

#include "core/graph/replica.hpp"
#include "core/machine/machine.hpp"
#include "core/memory/buffer_pool.hpp"
#include "core/memory/digest.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace troupe {

// Thread-safe for different replicas.
class MemorySpace {
 public:
  // A tensor that is held here.
  struct Held {
    ReplicaId replica;
    std::byte* buffer = nullptr;  // what take() returned
    std::uint64_t bytes = 0;
  };
  // So many tensors of a size.
  struct Need {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };

  // What take() returns where tensors have no address.
  static inline std::byte nowhere[1] = {};

  virtual ~MemorySpace() = default;

  // The pool of the buffers, if they are of the host's memory: the host then reads and writes them
  // where they are, and may take buffers from the pool itself. Null: only the functions below do.
  virtual BufferPool* pool() { return nullptr; }
  // How many bytes it can hold, if the machine file doesn't say; none: no limit.
  virtual std::optional<std::uint64_t> free_bytes() const { return std::nullopt; }

  // Room for a tensor. Never null. Throws a run Error if there is none.
  virtual std::byte* take(ReplicaId replica, std::uint64_t bytes) = 0;
  // Frees the room of a tensor that nothing uses any more.
  virtual void give(const Held& held) noexcept = 0;
  // Makes room for so many tensors of these sizes, as far as there is memory, so that take() need
  // not. Blocks. Does nothing where there is a pool.
  virtual void reserve(std::span<const Need>) {}
  // Copies all values to `out`. Blocks; the tensor must not be under way. Throws a run Error, for
  // example if a file can't be read.
  virtual void read(const Held& held, std::byte* out) const = 0;
  // Copies a part of the values, from byte `offset` of the tensor on; the first part, which begins
  // at 0, must come first. Blocks and throws likewise.
  virtual void write(const Held& held, std::uint64_t offset, std::span<const std::byte> values) = 0;
  // Of the values. Blocks. Throws as read() does.
  virtual Digest digest(const Held& held) const = 0;

  // The file of a tensor; empty: tensors are not in files.
  virtual std::filesystem::path file(ReplicaId) const { return {}; }
  // A tensor gets another number. Throws a run Error if its file can't be renamed.
  virtual void renumber(const Held&, ReplicaId /*to*/) {}
};

// Makes the space of a memory. Throws a usage Error if that fails.
using MakeSpace = std::function<std::unique_ptr<MemorySpace>(const Machine&, MemoryId)>;

}  // namespace troupe
