#include "core/backend/openblas/openblas_backend.hpp"

#include "core/backend/cpu_job.hpp"
#include "core/backend/openblas/pinning.hpp"
#include "core/backend/openblas/thread_team.hpp"
#include "core/backend/slot_worker.hpp"
#include "core/base/assert.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {
namespace {

// The core of a thread that computes; none for a device without cores.
std::span<const int> first(std::span<const int> cores) {
  return cores.subspan(0, cores.empty() ? 0 : 1);
}

// The cores of the helpers that a thread on the first one gets.
std::span<const int> all_but_first(std::span<const int> cores) {
  return cores.empty() ? cores : cores.subspan(1);
}

// A device with one stream: the device's own thread computes.
class InlineBackend final : public DeviceBackend {
 public:
  InlineBackend(const BackendContext& context, std::vector<int> cores)
      : context_(context),
        cores_(std::move(cores)),
        team_(all_but_first(cores_), context.widest_team) {}

  void enter_thread() override { pin_this_thread(first(cores_)); }

  Started start(std::uint32_t slot, const KernelCall& call) override {
    TROUPE_ASSERT(slot == 0);
    job_.prepare(context_.ops, context_.store, call);
    job_.compute(team_);
    return {.state = Started::State::finished};
  }

 private:
  BackendContext context_;
  std::vector<int> cores_;
  ThreadTeam team_;
  CpuJob job_;
};

// A device with several streams: each has a thread and a share of the cores.
class StreamedBackend final : public DeviceBackend {
 public:
  StreamedBackend(const BackendContext& context, const Device& device) : context_(context) {
    const auto streams = static_cast<std::size_t>(device.streams);
    for (std::size_t s = 0; s < streams; ++s) {
      streams_.push_back(std::make_unique<Stream>(context, s, share_of(device.cores, s, streams)));
    }
  }

  Started start(std::uint32_t slot, const KernelCall& call) override {
    TROUPE_ASSERT(slot < streams_.size());
    Stream& stream = *streams_[slot];
    stream.job.prepare(context_.ops, context_.store, call);
    stream.worker.submit([&stream] { stream.job.compute(stream.team); });
    return {.state = Started::State::pending};
  }

 private:
  // NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the order is that of destruction
  struct Stream {
    Stream(const BackendContext& context, std::size_t slot, std::vector<int> stream_cores)
        : cores(std::move(stream_cores)),
          team(all_but_first(cores), context.widest_team),
          pool(1, [this] { pin_this_thread(first(cores)); }),
          worker(pool, context.completions, static_cast<std::uint32_t>(slot)) {
      pool.start_all();
    }

    std::vector<int> cores;
    ThreadTeam team;
    CpuJob job;
    WorkerPool pool;  // after all that its thread uses
    SlotWorker worker;
  };

  // With fewer cores than streams, streams share cores.
  static std::vector<int> share_of(const std::vector<int>& cores, std::size_t stream,
                                   std::size_t streams) {
    if (cores.empty()) return {};
    if (cores.size() < streams) return {cores[stream % cores.size()]};
    const auto at = [&](std::size_t s) {
      return cores.begin() + static_cast<std::ptrdiff_t>(cores.size() * s / streams);
    };
    return {at(stream), at(stream + 1)};
  }

  BackendContext context_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

bool openblas_fits(const Machine& machine, DeviceId device) {
  return machine.device(device).kind == DeviceKind::cpu;
}

bool openblas_has_kernel(const Machine&, DeviceId, const OpKind& op) {
  return op.cpu != nullptr;
}

std::unique_ptr<DeviceBackend> make_openblas_device(const BackendContext& context, DeviceId id) {
  const Device& device = context.machine.device(id);
  if (device.streams > 1) return std::make_unique<StreamedBackend>(context, device);
  return std::make_unique<InlineBackend>(context, device.cores);
}

}  // namespace

DeviceBackendEntry openblas_device_backend() {
  return {.name = "openblas",
          .fits = openblas_fits,
          .has_kernel = openblas_has_kernel,
          .make = make_openblas_device};
}

}  // namespace troupe
