#include "core/backend/simulated/simulated_backend.hpp"

#include "core/backend/simulated/simulated_queues.hpp"

#include <cstddef>

namespace troupe {
namespace {

class SimulatedDevice final : public DeviceBackend {
 public:
  SimulatedDevice(const Machine& machine, DeviceId id)
      : queues_(static_cast<std::size_t>(machine.device(id).streams),
                simulated_issue_depth(machine, id)) {}

  Started start(std::uint32_t slot, const KernelCall& call) override {
    return queues_.start(slot, call.expected, call.issue);
  }

 private:
  SimulatedQueues queues_;
};

class SimulatedLink final : public LinkBackend {
 public:
  SimulatedLink(const Machine& machine, LinkId id)
      : queues_(2, simulated_issue_depth(machine, id)) {}

  Started start(Direction, const ChunkMove& move) override {
    return queues_.start(move.slot, move.expected, move.issue);
  }

 private:
  SimulatedQueues queues_;
};

bool simulated_fits_device(const Machine&, DeviceId) {
  return true;
}
bool fits_link(const Machine&, LinkId) {
  return true;
}

// The cost model, not the backend, decides which ops can be simulated.
bool simulated_has_kernel(const Machine&, DeviceId, const OpKind&) {
  return true;
}

std::unique_ptr<DeviceBackend> make_device(const BackendContext& context, DeviceId id) {
  return std::make_unique<SimulatedDevice>(context.machine, id);
}
std::unique_ptr<LinkBackend> make_link(const BackendContext& context, LinkId id) {
  return std::make_unique<SimulatedLink>(context.machine, id);
}

}  // namespace

DeviceBackendEntry simulated_device_backend() {
  return {.name = "simulated",
          .fits = simulated_fits_device,
          .has_kernel = simulated_has_kernel,
          .make = make_device,
          .mode = Mode::simulate,
          .order = simulated_order,
          .issue_depth = simulated_issue_depth};
}

LinkBackendEntry simulated_link_backend() {
  return {.name = "simulated",
          .fits = fits_link,
          .make = make_link,
          .mode = Mode::simulate,
          .order = simulated_order,
          .issue_depth = simulated_issue_depth};
}

}  // namespace troupe
