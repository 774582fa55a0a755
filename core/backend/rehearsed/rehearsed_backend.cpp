#include "core/backend/rehearsed/rehearsed_backend.hpp"

#include "core/backend/cpu_job.hpp"
#include "core/backend/openblas/thread_team.hpp"
#include "core/backend/simulated/simulated_queues.hpp"

#include <cstddef>
#include <cstring>

namespace troupe {
namespace {

class RehearsedDevice final : public DeviceBackend {
 public:
  RehearsedDevice(const BackendContext& context, DeviceId id)
      : ops_(context.ops),
        store_(context.store),
        queues_(static_cast<std::size_t>(context.machine.device(id).streams),
                simulated_issue_depth(context.machine, id)),
        team_({}, context.widest_team) {}

  // Of an op that was issued, the inputs were issued before it, and so computed.
  Started start(std::uint32_t slot, const KernelCall& call) override {
    job_.prepare(ops_, store_, call);
    job_.compute(team_);
    return queues_.start(slot, call.expected, call.issue);
  }

 private:
  const OpRegistry& ops_;
  MemoryStore& store_;
  SimulatedQueues queues_;
  ThreadTeam team_;  // the calling thread alone
  CpuJob job_;
};

class RehearsedLink final : public LinkBackend {
 public:
  RehearsedLink(const BackendContext& context, LinkId id)
      : store_(context.store), queues_(2, simulated_issue_depth(context.machine, id)) {}

  Started start(Direction, const ChunkMove& move) override {
    std::memcpy(store_.data(move.to) + move.offset, store_.data(move.from) + move.offset,
                move.bytes);
    return queues_.start(move.slot, move.expected, move.issue);
  }

 private:
  MemoryStore& store_;
  SimulatedQueues queues_;
};

}  // namespace

DeviceBackendEntry rehearsed_device_backend() {
  return {.name = "rehearsed",
          .fits = [](const Machine&, DeviceId) { return true; },
          .has_kernel = [](const Machine&, DeviceId,
                           const OpKind& kind) { return kind.cpu != nullptr; },
          .make = [](const BackendContext& context, DeviceId id) -> std::unique_ptr<DeviceBackend> {
            return std::make_unique<RehearsedDevice>(context, id);
          },
          .mode = Mode::rehearse,
          .order = simulated_order,
          .issue_depth = simulated_issue_depth};
}

LinkBackendEntry rehearsed_link_backend() {
  return {.name = "rehearsed",
          .fits = [](const Machine&, LinkId) { return true; },
          .make = [](const BackendContext& context, LinkId id) -> std::unique_ptr<LinkBackend> {
            return std::make_unique<RehearsedLink>(context, id);
          },
          .mode = Mode::rehearse,
          .order = simulated_order,
          .issue_depth = simulated_issue_depth};
}

}  // namespace troupe
