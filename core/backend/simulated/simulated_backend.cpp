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

bool fits_device(const Machine&, DeviceId) {
  return true;
}
bool fits_link(const Machine&, LinkId) {
  return true;
}

// Whether the time of an op can be told is the cost model's to say.
bool has_kernel(const Machine&, DeviceId, const OpKind&) {
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
          .fits = fits_device,
          .has_kernel = has_kernel,
          .make = make_device,
          .mode = Mode::simulate};
}

LinkBackendEntry simulated_link_backend() {
  return {.name = "simulated", .fits = fits_link, .make = make_link, .mode = Mode::simulate};
}

}  // namespace troupe
