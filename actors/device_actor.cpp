#include "actors/device_actor.hpp"

#include "actors/resource_actor.hpp"
#include "core/run/device_logic.hpp"

namespace troupe {
namespace {

// Computes ops through a backend, with tensors in a store.
class DeviceWork {
 public:
  DeviceWork(const BackendContext& context, std::unique_ptr<DeviceBackend> backend, MemoryId memory,
             bool issues_ahead)
      : backend_(std::move(backend)),
        ops_(&context.ops),
        store_(&context.store),
        cache_(context.store.pool(memory)),
        is_tracked_(context.store.is_tracked(memory)),
        issues_ahead_(issues_ahead) {}

  void enter_thread() { backend_->enter_thread(); }

  Started start(const DeviceLogic::Start& start) {
    const Share& share = start.part->share;
    const Share::Item& item = share.items[start.item];
    const Share::Kernel& kernel = share.kernels[item.work];
    const ReplicaId output = share.output(start.item);
    const std::span<const ReplicaId> inputs = share.inputs_of(start.item);
    if (kernel.is_plain) {
      if (is_tracked_) store_->acquire(output, cache_);
    } else {
      if (kernel.is_further) {
        issue_ = {};
        return {.state = Started::State::finished};
      }
      if (is_tracked_) make_room(kernel, inputs, output);
    }
    if (issues_ahead_) {
      find_tokens(inputs, start.since);
    } else if (kernel.length == Share::Length::lengthy) {
      ActorThreads::leave_poll();
    }
    return backend_->start(start.slot, {.kind = kernel.kind,
                                        .attrs = kernel.attrs,
                                        .inputs = inputs,
                                        .output = output,
                                        .further = kernel.further,
                                        .expected = kernel.expected,
                                        .index = item.index,
                                        .issue = issues_ahead_ ? &issue_ : nullptr});
  }

  void submit() {
    if (issues_ahead_) backend_->submit();
  }

  const Issue* issued(const DeviceLogic::Start& start) {
    if (!issues_ahead_ || issue_.token.is_none()) return nullptr;
    const ReplicaId output = start.part->share.output(start.item);
    for (std::uint32_t k = 0; k <= kernel(start).further; ++k) {
      store_->tokens().add(ReplicaId{output.value + k}, issue_.token);
    }
    return &issue_;
  }

  void finished(const DeviceLogic::Start& start, Duration took) {
    if (is_tracked_) {
      const Share& share = start.part->share;
      for (const ReplicaId input : share.inputs_of(start.item)) store_->release(input, cache_);
      if (share.items[start.item].frees_result) store_->release(share.output(start.item), cache_);
      // The further outputs of an op that was issued end with it, and have read it.
      for (std::uint32_t k = 0; start.is_issued && k < kernel(start).further; ++k) {
        store_->release(share.output(start.item), cache_);
      }
    }
    // Written where it changes only: other devices' kernels may lie in the same cache line.
    const Share::Length length = length_of(took);
    if (kernel(start).length != length) kernel(start).length = length;
  }

  // An estimate: assumes that a kernel takes as long as it took the last time.
  bool may_block(const DeviceLogic::Start& start) const {
    return !issues_ahead_ && kernel(start).length != Share::Length::brief;
  }

 private:
  static Share::Length length_of(Duration took) {
    if (took <= std::chrono::microseconds(2)) return Share::Length::brief;
    if (took <= std::chrono::microseconds(100)) return Share::Length::medium;
    return Share::Length::lengthy;
  }
  void find_tokens(std::span<const ReplicaId> inputs, Instant now) {
    after_.clear();
    for (const ReplicaId input : inputs) store_->tokens().append(input, after_);
    issue_ = {.after = after_, .now = now};
  }
  void make_room(const Share::Kernel& kernel, std::span<const ReplicaId> inputs, ReplicaId output) {
    for (std::uint32_t k = 1; k <= kernel.further; ++k) {
      store_->acquire(ReplicaId{output.value + k}, cache_);
    }
    if (kernel.in_place_of && store_->hand_over(inputs[*kernel.in_place_of], output)) return;
    if (kernel.adopts) {
      if (auto values = existing_of((*ops_)[kernel.kind], *kernel.attrs)) {
        return store_->adopt(output, std::move(values));
      }
    }
    store_->acquire(output, cache_);
  }

  static Share::Kernel& kernel(const DeviceLogic::Start& start) {
    Share& share = start.part->share;
    return share.kernels[share.items[start.item].work];
  }

  std::unique_ptr<DeviceBackend> backend_;
  const OpRegistry* ops_;
  MemoryStore* store_;
  BufferCache cache_;
  bool is_tracked_;
  bool issues_ahead_;
  Issue issue_;               // of the op that is started
  std::vector<Token> after_;  // of it
};

using DeviceActor = ResourceActor<DeviceLogic, DeviceWork>;

}  // namespace

caf::actor spawn_device(caf::actor_system& system, const RunContext& context, DeviceId device,
                        const caf::actor& coordinator, caf::execution_unit* thread) {
  const ResourceId self{device.value};
  const auto slots = static_cast<std::uint32_t>(context.machine.device(device).streams);
  IssueAhead ahead = issue_ahead(context.setting, context.machine, self);
  const auto make_work = [&context, device,
                          issues_ahead = ahead.is_on()](Completions& completions) {
    const BackendContext backend_context{.machine = context.machine,
                                         .ops = context.ops,
                                         .store = context.store,
                                         .completions = completions,
                                         .network = context.network,
                                         .widest_team = context.setting.widest_team};
    return DeviceWork(
        backend_context,
        context.setting.device_backends[device.index()]->make(backend_context, device),
        context.machine.device(device).memory, issues_ahead);
  };
  // On a node its thread spins, as that polls the network meanwhile.
  const bool may_spin = thread != nullptr && context.network == nullptr;
  DeviceLogic logic(self, static_cast<int>(slots), std::move(ahead));
  caf::actor_config config(thread);
  return system.spawn_class<DeviceActor, caf::no_spawn_options>(
      config, self, coordinator, std::ref(context.clock), std::cref(context.interrupted),
      std::move(logic), may_spin, make_work);
}

}  // namespace troupe
