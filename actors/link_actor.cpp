#include "actors/link_actor.hpp"

#include "actors/resource_actor.hpp"
#include "core/run/link_logic.hpp"

namespace troupe {
namespace {

// Moves chunks through a backend, between tensors in a store.
class LinkWork {
 public:
  LinkWork(std::unique_ptr<LinkBackend> backend, MemoryStore& store, const Link& link,
           bool issues_ahead)
      : backend_(std::move(backend)),
        store_(&store),
        caches_{BufferCache(store.pool(link.target(Direction::forward))),
                BufferCache(store.pool(link.target(Direction::backward)))},
        issues_ahead_(issues_ahead) {
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
    if (share.move(start.item).paces) {
      const ItemRef& item = share.elsewhere[share.successors_of(start.item)[0].place()];
      next = {.window = share.window, .resource = item.resource.value, .item = item.item};
    }
    const auto direction = static_cast<std::size_t>(start.direction);
    if (start.first && target_is_tracked_[direction]) store_->acquire(to, caches_[direction]);
    const ReplicaId from = share.inputs_of(start.item)[0];
    if (issues_ahead_) {
      after_.clear();
      store_->tokens().append(from, after_);
      issue_ = {.after = after_, .now = start.since};
    }
    return backend_->start(start.direction, {.from = from,
                                             .to = to,
                                             .offset = start.offset,
                                             .bytes = start.bytes,
                                             .first = start.first,
                                             .last = start.last,
                                             .expected = start.expected,
                                             .next = next,
                                             .issue = issues_ahead_ ? &issue_ : nullptr,
                                             .slot = start.slot,
                                             .index = share.items[start.item].index});
  }

  const Issue* issued(const LinkLogic::Start& start) {
    if (!issues_ahead_ || issue_.token.is_none()) return nullptr;
    store_->tokens().add(start.part->share.output(start.item), issue_.token);
    return &issue_;
  }

  void submit() {}  // links hold nothing back
  bool may_block(const LinkLogic::Start&) const { return false; }

  void finished(const LinkLogic::Start& start, Duration) {
    const ReplicaId from = start.part->share.inputs_of(start.item)[0];
    const auto direction = static_cast<std::size_t>(start.direction);
    // The pool of the source is that of the target of the other direction.
    if (start.last && source_is_tracked_[direction]) store_->release(from, caches_[1 - direction]);
  }

 private:
  std::unique_ptr<LinkBackend> backend_;
  MemoryStore* store_;
  BufferCache caches_[2];      // by direction: for the target
  bool target_is_tracked_[2];  // by direction
  bool source_is_tracked_[2];
  bool issues_ahead_;
  Issue issue_;               // of the chunk that is started
  std::vector<Token> after_;  // of it
};

using LinkActor = ResourceActor<LinkLogic, LinkWork>;

}  // namespace

caf::actor spawn_link(caf::actor_system& system, const RunContext& context, LinkId link,
                      const caf::actor& coordinator, caf::execution_unit* thread) {
  const ResourceId self = ResourceId::at(context.machine.devices.size() + link.index());
  IssueAhead ahead = issue_ahead(context.setting, context.machine, self);
  const auto make_work = [&context, link, self,
                          issues_ahead = ahead.is_on()](Completions& completions) {
    const BackendContext backend_context{context.machine, context.ops,     context.store,
                                         completions,     context.network, context.use_of(self)};
    return LinkWork(context.setting.link_backends[link.index()]->make(backend_context, link),
                    context.store, context.machine.link(link), issues_ahead);
  };
  const Link& of = context.machine.link(link);
  LinkLogic logic(self, of.sharing, std::move(ahead), of.chunk_bytes);
  caf::actor_config config(thread);
  return system.spawn_class<LinkActor, caf::no_spawn_options>(
      config, self, coordinator, std::ref(context.clock), std::cref(context.interrupted),
      std::move(logic), false, make_work);
}

}  // namespace troupe
