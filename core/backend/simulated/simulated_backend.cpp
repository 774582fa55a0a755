#include "core/backend/simulated/simulated_backend.hpp"

namespace troupe {
namespace {

class SimulatedDevice final : public DeviceBackend {
 public:
  Started start(std::uint32_t, const KernelCall& call) override {
    return {.state = Started::State::after, .after = call.expected};
  }
};

class SimulatedLink final : public LinkBackend {
 public:
  Started start(Direction, const ChunkMove& move) override {
    return {.state = Started::State::after, .after = move.expected};
  }
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

std::unique_ptr<DeviceBackend> make_device(const BackendContext&, DeviceId) {
  return std::make_unique<SimulatedDevice>();
}
std::unique_ptr<LinkBackend> make_link(const BackendContext&, LinkId) {
  return std::make_unique<SimulatedLink>();
}

}  // namespace

DeviceBackendEntry simulated_device_backend() {
  return {.name = "simulated",
          .fits = simulated_fits_device,
          .has_kernel = simulated_has_kernel,
          .make = make_device,
          .mode = Mode::simulate};
}

LinkBackendEntry simulated_link_backend() {
  return {.name = "simulated", .fits = fits_link, .make = make_link, .mode = Mode::simulate};
}

}  // namespace troupe
