#include "core/memory/shared_buffer.hpp"

#include "core/base/assert.hpp"
#include "core/base/buffer_capacity.hpp"

namespace troupe {
namespace {

struct GiveBack {
  std::shared_ptr<BufferPool> pool;  // null: taken over
  std::uint64_t capacity = 0;

  void operator()(std::byte* buffer) const noexcept {
    if (pool != nullptr) pool->give(capacity, buffer);
  }
};

}  // namespace

std::shared_ptr<std::byte> shared_buffer(BufferPool& pool, std::uint64_t bytes) {
  const std::uint64_t capacity = buffer_capacity(bytes);
  return {pool.take(capacity), GiveBack{pool.shared_from_this(), capacity}};
}

bool is_shared_buffer(const std::shared_ptr<const std::byte>& values, const BufferPool* pool,
                      std::uint64_t capacity) {
  const auto* const owner = std::get_deleter<GiveBack>(values);
  return owner != nullptr && owner->pool.get() == pool && owner->capacity == capacity;
}

std::byte* take_over(const std::shared_ptr<const std::byte>& values) {
  auto* const owner = std::get_deleter<GiveBack>(values);
  TROUPE_ASSERT(owner != nullptr && owner->pool != nullptr);
  owner->pool.reset();
  return const_cast<std::byte*>(values.get());
}

}  // namespace troupe
