#include "core/backend/memcpy/memcpy_backend.hpp"

#include "core/backend/link_workers.hpp"
#include "core/base/assert.hpp"

#include <cstring>
#include <memory>

namespace troupe {
namespace {

// About 2 us of copying; waking a thread takes 5 us and more.
constexpr std::uint64_t inline_bytes_max = 16 << 10;

class MemcpyLink final : public LinkBackend {
 public:
  explicit MemcpyLink(const BackendContext& context)
      : store_(context.store), workers_(context.completions) {}

  Started start(Direction direction, const ChunkMove& move) override {
    const std::byte* from = store_.data(move.from);
    std::byte* to = store_.data(move.to);
    TROUPE_ASSERT(from != nullptr && to != nullptr);
    TROUPE_ASSERT(move.offset + move.bytes <= store_.type(move.to).bytes());
    from += move.offset;
    to += move.offset;
    if (move.bytes <= inline_bytes_max) {
      std::memcpy(to, from, move.bytes);
      return {.state = Started::State::finished};
    }
    return workers_.start(direction, [=, bytes = move.bytes] { std::memcpy(to, from, bytes); });
  }

 private:
  MemoryStore& store_;
  LinkWorkers workers_;
};

bool memcpy_fits(const Machine& machine, LinkId id) {
  const Link& link = machine.link(id);
  return is_host_ram(machine, link.a) && is_host_ram(machine, link.b);
}

std::unique_ptr<LinkBackend> make_memcpy_link(const BackendContext& context, LinkId) {
  return std::make_unique<MemcpyLink>(context);
}

}  // namespace

LinkBackendEntry memcpy_link_backend() {
  return {.name = "memcpy", .fits = memcpy_fits, .make = make_memcpy_link, .mode = Mode::run};
}

}  // namespace troupe
