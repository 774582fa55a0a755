#include "core/memory/host_space.hpp"

#include "core/base/buffer_capacity.hpp"

#include <cstring>
#include <utility>

namespace troupe {
namespace {

class HostSpace final : public MemorySpace {
 public:
  explicit HostSpace(std::shared_ptr<BufferPool> pool) : pool_(std::move(pool)) {}

  BufferPool* pool() override { return pool_.get(); }
  std::byte* take(ReplicaId, std::uint64_t bytes) override {
    return pool_->take(buffer_capacity(bytes));
  }
  void give(const Held& held) noexcept override {
    pool_->give(buffer_capacity(held.bytes), held.buffer);
  }
  void read(const Held& held, std::byte* out) const override {
    std::memcpy(out, held.buffer, held.bytes);
  }
  void write(const Held& held, std::uint64_t offset, std::span<const std::byte> values) override {
    std::memcpy(held.buffer + offset, values.data(), values.size());
  }
  Digest digest(const Held& held) const override { return digest_of({held.buffer, held.bytes}); }

 private:
  const std::shared_ptr<BufferPool> pool_;
};

}  // namespace

std::unique_ptr<MemorySpace> make_host_space(std::shared_ptr<BufferPool> pool) {
  return std::make_unique<HostSpace>(std::move(pool));
}

}  // namespace troupe
