#include "core/backend/rehearsed/rehearsed_backend.hpp"

#include "core/backend/cpu_job.hpp"
#include "core/backend/openblas/thread_team.hpp"

#include <cstring>

namespace troupe {
namespace {

class RehearsedDevice final : public DeviceBackend {
 public:
  explicit RehearsedDevice(const BackendContext& context)
      : ops_(context.ops), store_(context.store) {}

  Started start(std::uint32_t, const KernelCall& call) override {
    job_.prepare(ops_, store_, call);
    job_.compute(team_);
    return {.state = Started::State::after, .after = call.expected};
  }

 private:
  const OpRegistry& ops_;
  MemoryStore& store_;
  ThreadTeam team_{{}};  // the calling thread alone
  CpuJob job_;
};

class RehearsedLink final : public LinkBackend {
 public:
  explicit RehearsedLink(const BackendContext& context) : store_(context.store) {}

  Started start(Direction, const ChunkMove& move) override {
    std::memcpy(store_.data(move.to) + move.offset, store_.data(move.from) + move.offset,
                move.bytes);
    return {.state = Started::State::after, .after = move.expected};
  }

 private:
  MemoryStore& store_;
};

}  // namespace

DeviceBackendEntry rehearsed_device_backend() {
  return {.name = "rehearsed",
          .fits = [](const Machine&, DeviceId) { return true; },
          .has_kernel = [](const Machine&, DeviceId,
                           const OpKind& kind) { return kind.cpu != nullptr; },
          .make = [](const BackendContext& context, DeviceId) -> std::unique_ptr<DeviceBackend> {
            return std::make_unique<RehearsedDevice>(context);
          },
          .mode = Mode::rehearse};
}

LinkBackendEntry rehearsed_link_backend() {
  return {.name = "rehearsed",
          .fits =
              [](const Machine& machine, LinkId link) {
                const Link& l = machine.link(link);
                return machine.memory(l.a).kind != MemoryKind::storage &&
                       machine.memory(l.b).kind != MemoryKind::storage;
              },
          .make = [](const BackendContext& context, LinkId) -> std::unique_ptr<LinkBackend> {
            return std::make_unique<RehearsedLink>(context);
          },
          .mode = Mode::rehearse};
}

}  // namespace troupe
