#include "actors/device_actor.hpp"

#include "actors/resource_actor.hpp"
#include "core/run/device_logic.hpp"

namespace troupe {
namespace {

// Computes ops through a backend, with tensors in a store.
class DeviceWork {
 public:
  DeviceWork(std::unique_ptr<DeviceBackend> backend, MemoryStore& store, MemoryId memory)
      : backend_(std::move(backend)),
        store_(&store),
        cache_(store.pool()),
        is_tracked_(store.keeps_track_of(memory)) {}

  void enter_thread() { backend_->enter_thread(); }

  Started start(const DeviceLogic::Start& start, const Share& share) {
    if (is_tracked_) store_->acquire(share.output(start.item), cache_);
    const Share::Kernel& kernel = share.kernels[share.kernel[start.item]];
    return backend_->start(start.lane, {.kind = kernel.kind,
                                        .attrs = &kernel.attrs,
                                        .inputs = share.inputs_of(start.item),
                                        .output = share.output(start.item),
                                        .expected = share.expected[start.item],
                                        .index = share.index[start.item]});
  }

  void finished(const DeviceLogic::Start& start, const Share& share, Duration took) {
    if (is_tracked_) {
      for (const ReplicaId input : share.inputs_of(start.item)) store_->release(input, cache_);
    }
    this->took(start, share) = took;
  }

  // As far as one can tell: a kernel takes what it took the last time.
  bool may_block(const DeviceLogic::Start& start, const Share& share) {
    return took(start, share) > std::chrono::microseconds(2);
  }

 private:
  static constexpr std::uint32_t no_window = 0xFFFF'FFFF;

  Duration& took(const DeviceLogic::Start& start, const Share& share) {
    if (window_ != share.window) {
      window_ = share.window;
      took_.assign(share.kernels.size(), longest_duration);
    }
    return took_[share.kernel[start.item]];
  }

  std::uint32_t window_ = no_window;
  std::vector<Duration> took_;  // by kernel of that window's share: the last time
  std::unique_ptr<DeviceBackend> backend_;
  MemoryStore* store_;
  BufferCache cache_;
  bool is_tracked_;
};

using DeviceActor = ResourceActor<DeviceLogic, DeviceWork>;

}  // namespace

caf::actor spawn_device(caf::actor_system& system, const Stage& stage, DeviceId device,
                        const caf::actor& coordinator, caf::execution_unit* thread) {
  const ResourceId self{device.value};
  const auto lanes = static_cast<std::uint32_t>(stage.machine.device(device).streams);
  const auto make_work = [&stage, device](Completions& completions) {
    const BackendContext context{stage.machine, stage.ops, stage.store, completions};
    return DeviceWork(choose_backend(stage.mode, stage.machine, device).make(context, device),
                      stage.store, stage.machine.device(device).memory);
  };
  const DeviceLogic logic(self, static_cast<int>(lanes));
  caf::actor_config config(thread);
  return system.spawn_class<DeviceActor, caf::no_spawn_options>(
      config, self, coordinator, std::ref(stage.alarms), logic, lanes, thread != nullptr,
      make_work);
}

}  // namespace troupe
