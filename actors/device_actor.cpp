#include "actors/device_actor.hpp"

#include "actors/resource_actor.hpp"
#include "core/run/device_logic.hpp"

namespace troupe {
namespace {

// Computes ops through a backend, with tensors in a store.
class DeviceWork {
 public:
  DeviceWork(std::unique_ptr<DeviceBackend> backend, MemoryStore& store)
      : backend_(std::move(backend)), store_(&store) {}

  void enter_thread() { backend_->enter_thread(); }

  Started start(const DeviceLogic::Start& start, const Share& share) {
    store_->acquire(share.output[start.item]);
    const Share::Kernel& kernel = share.kernels[start.item];
    return backend_->start(start.lane, {.kind = kernel.kind,
                                        .attrs = &share.attrs_table[kernel.attrs],
                                        .inputs = share.inputs_of(start.item),
                                        .output = share.output[start.item],
                                        .expected = share.expected[start.item],
                                        .index = kernel.index});
  }

  void finished(const DeviceLogic::Start& start, const Share& share) {
    for (const ReplicaId input : share.inputs_of(start.item)) store_->release(input);
  }

 private:
  std::unique_ptr<DeviceBackend> backend_;
  MemoryStore* store_;
};

using DeviceActor = ResourceActor<DeviceLogic, DeviceWork>;

}  // namespace

caf::actor spawn_device(caf::actor_system& system, const Stage& stage, DeviceId device,
                        const caf::actor& coordinator, bool detached) {
  const ResourceId self{device.value};
  const auto lanes = static_cast<std::uint32_t>(stage.machine.device(device).streams);
  const auto make_work = [&stage, device](Completions& completions) {
    const BackendContext context{stage.machine, stage.ops, stage.store, completions};
    return DeviceWork(choose_backend(stage.mode, stage.machine, device).make(context, device),
                      stage.store);
  };
  const DeviceLogic logic(self, static_cast<int>(lanes));
  return detached ? system.spawn<DeviceActor, caf::detached>(
                        self, coordinator, std::ref(stage.alarms), logic, lanes, make_work)
                  : system.spawn<DeviceActor>(self, coordinator, std::ref(stage.alarms), logic,
                                              lanes, make_work);
}

}  // namespace troupe
