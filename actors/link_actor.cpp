#include "actors/link_actor.hpp"

#include "actors/resource_actor.hpp"
#include "core/run/link_logic.hpp"

namespace troupe {
namespace {

// Moves chunks through a backend, between tensors in a store.
class LinkWork {
 public:
  LinkWork(std::unique_ptr<LinkBackend> backend, MemoryStore& store, const Link& link)
      : backend_(std::move(backend)), store_(&store), cache_(store.pool()) {
    for (const Direction d : {Direction::forward, Direction::backward}) {
      target_is_tracked_[static_cast<int>(d)] = store.is_tracked(link.target(d));
      source_is_tracked_[static_cast<int>(d)] = store.is_tracked(link.source(d));
    }
  }

  void enter_thread() {}  // it may be another one each time

  Started start(const LinkLogic::Start& start) {
    const Share& share = start.part->share;
    const ReplicaId to = share.output(start.item);
    std::optional<ChunkMove::Next> next;
    if (share.moves[start.item].paces) {
      const ItemRef& item = share.elsewhere[share.successors_of(start.item)[0].place()];
      next = {.window = share.window, .resource = item.resource.value, .item = item.item};
    }
    if (start.first && target_is_tracked_[start.lane]) store_->acquire(to, cache_);
    return backend_->start(static_cast<Direction>(start.lane),
                           {.from = share.inputs_of(start.item)[0],
                            .to = to,
                            .offset = start.offset,
                            .bytes = start.bytes,
                            .first = start.first,
                            .last = start.last,
                            .expected = start.expected,
                            .next = next});
  }

  bool may_block(const LinkLogic::Start&) const { return false; }

  void finished(const LinkLogic::Start& start, Duration) {
    const ReplicaId from = start.part->share.inputs_of(start.item)[0];
    if (start.last && source_is_tracked_[start.lane]) store_->release(from, cache_);
  }

 private:
  std::unique_ptr<LinkBackend> backend_;
  MemoryStore* store_;
  BufferCache cache_;
  bool target_is_tracked_[2];  // by direction
  bool source_is_tracked_[2];
};

using LinkActor = ResourceActor<LinkLogic, LinkWork>;

}  // namespace

caf::actor spawn_link(caf::actor_system& system, const RunContext& context, LinkId link,
                      const caf::actor& coordinator, caf::execution_unit* thread) {
  const ResourceId self = ResourceId::at(context.machine.devices.size() + link.index());
  const auto make_work = [&context, link](Completions& completions) {
    const BackendContext backend_context{context.machine, context.ops, context.store, completions,
                                         context.network};
    return LinkWork(context.setting.link_backends[link.index()]->make(backend_context, link),
                    context.store, context.machine.link(link));
  };
  LinkLogic logic(self, context.machine.link(link).sharing);
  caf::actor_config config(thread);
  return system.spawn_class<LinkActor, caf::no_spawn_options>(
      config, self, coordinator, std::ref(context.clock), std::cref(context.interrupted),
      std::move(logic), false, make_work);
}

}  // namespace troupe
