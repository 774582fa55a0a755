#include "actors/link_actor.hpp"

#include "actors/resource_actor.hpp"
#include "core/run/link_logic.hpp"

namespace troupe {
namespace {

// Moves chunks through a backend, between tensors in a store.
class LinkWork {
 public:
  LinkWork(std::unique_ptr<LinkBackend> backend, MemoryStore& store)
      : backend_(std::move(backend)), store_(&store) {}

  void enter_thread() { backend_->enter_thread(); }

  Started start(const LinkLogic::Start& start, const Share& share) {
    const ReplicaId to = share.output[start.item];
    if (start.first) store_->acquire(to);
    return backend_->start(static_cast<Direction>(start.lane),
                           {.from = share.inputs_of(start.item)[0],
                            .to = to,
                            .offset = start.offset,
                            .bytes = start.bytes,
                            .first = start.first,
                            .last = start.last,
                            .expected = start.expected});
  }

  void finished(const LinkLogic::Start& start, const Share& share) {
    if (start.last) store_->release(share.inputs_of(start.item)[0]);
  }

 private:
  std::unique_ptr<LinkBackend> backend_;
  MemoryStore* store_;
};

using LinkActor = ResourceActor<LinkLogic, LinkWork>;

}  // namespace

caf::actor spawn_link(caf::actor_system& system, const Stage& stage, LinkId link,
                      const caf::actor& coordinator, bool detached) {
  const ResourceId self = ResourceId::at(stage.machine.devices.size() + link.index());
  const auto make_work = [&stage, link](Completions& completions) {
    const BackendContext context{stage.machine, stage.ops, stage.store, completions};
    return LinkWork(choose_backend(stage.mode, stage.machine, link).make(context, link),
                    stage.store);
  };
  const Link& l = stage.machine.link(link);
  const LinkLogic logic(self, l.sharing, l.latency);
  constexpr std::uint32_t lanes = 2;  // one per direction
  return detached ? system.spawn<LinkActor, caf::detached>(
                        self, coordinator, std::ref(stage.alarms), logic, lanes, make_work)
                  : system.spawn<LinkActor>(self, coordinator, std::ref(stage.alarms), logic, lanes,
                                            make_work);
}

}  // namespace troupe
