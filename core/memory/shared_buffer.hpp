// A buffer of a pool that is filled before there is a tensor.
#pragma once

#include "core/memory/buffer_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace troupe {

// Of at least so many bytes. The last pointer to it gives it back to the pool, which lives until
// then, unless take_over() was called. A shared pointer must own the pool. Blocks and throws as
// BufferPool::take() does.
std::shared_ptr<std::byte> shared_buffer(BufferPool& pool, std::uint64_t bytes);

// Whether these values are in such a buffer, of this pool and capacity.
bool is_shared_buffer(const std::shared_ptr<const std::byte>& values, const BufferPool* pool,
                      std::uint64_t capacity);
// Returns that buffer: from now on the caller has to give it back. `values` must be in one.
std::byte* take_over(const std::shared_ptr<const std::byte>& values);

}  // namespace troupe
