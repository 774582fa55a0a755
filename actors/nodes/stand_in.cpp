#include "actors/nodes/stand_in.hpp"

#include "actors/crash_reasons.hpp"
#include "actors/messages.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "core/base/error.hpp"
#include "core/run/records.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe {
namespace {

class StandIn final : public caf::event_based_actor {
 public:
  StandIn(caf::actor_config& config, caf::actor agent, std::uint32_t run, ResourceId self,
          caf::actor coordinator, LinkUse* use)
      : caf::event_based_actor(config),
        agent_(std::move(agent)),
        run_(run),
        self_(self),
        coordinator_(std::move(coordinator)),
        use_(use) {
    set_exception_handler([this](std::exception_ptr& cause) { return crash_.take(cause); });
  }

  caf::behavior make_behavior() override {
    return {
        // From the coordinator.
        [this](const Introduce&) { pass_on(JoinRun{}); },
        [this](AssignShare& message) {
          pass_on(PackedShare(message.share));
          shares_.push_back(std::move(message.share));
        },
        [this](const Watch& watch) {
          if (find(watch.item.window) != shares_.end()) return pass_on(watch);
          send(coordinator_, Watched{watch.item});
        },
        [this](const Stop& stop) { pass_on(stop); },
        [this](const Collect& collect) {
          pass_on(collect);
          is_collecting_ = true;
          if (is_lost_) hand_in();
        },
        [this](const StatusRequest& ask) { pass_on(ask); },
        // From the node.
        [this](const Ready& ready) { send(coordinator_, ready); },
        [this](const Progress& progress) {
          done_ = progress.done;
          send(coordinator_, progress);
        },
        [this](const Watched& watched) {
          note(watched);
          send(coordinator_, watched);
        },
        [this](const Failure& failure) { send(coordinator_, failure); },
        [this](const Status& status) { send(coordinator_, status); },
        [this](const ShareDone& share) {
          done_ = share.done;
          send(coordinator_, ShareComplete{self_, done_, take(share.records)});
        },
        [this](const LastRecords& last) {
          done_ = std::max(done_, last.done);  // of an actor that has crashed, nothing is known
          for (const ShareRecords& records : last.records) write(records);
          if (use_ != nullptr) use_->add(last.use);
          hand_in();
        },
        [this](const NodeLost& lost) {
          if (std::exchange(is_lost_, true)) return;
          send(coordinator_, Failure{self_, {}, lost.cause});
          if (is_collecting_) hand_in();
        },
    };
  }

  void on_exit() override {
    agent_ = nullptr;
    coordinator_ = nullptr;
  }

 private:
  template <class Message>
  void pass_on(const Message& message) {
    if (!is_lost_) caf::anon_send(agent_, run_, self_, message);
  }

  std::vector<Share>::iterator find(std::uint32_t window) {
    return std::find_if(shares_.begin(), shares_.end(),
                        [&](const Share& s) { return s.window == window; });
  }
  std::vector<Share>::iterator write(const ShareRecords& records) {
    const auto share = find(records.window());
    if (share == shares_.end()) throw run_error("its node sent records of work that it didn't get");
    records.write_to(*share);
    return share;
  }

  // So that it is known to have finished while the rest of its share is under way.
  void note(const Watched& watched) {
    const auto share = find(watched.item.window);
    if (share == shares_.end() || watched.end == Share::never) return;
    if (watched.item.ref.item >= share->size()) throw run_error("there is no such item");
    Share::Item& item = share->items[watched.item.ref.item];
    if (item.finished()) return;
    if (share->is_transfer()) {
      Share::Chunks& chunks = share->chunks[watched.item.ref.item];
      chunks.busy = watched.busy;
      chunks.shortest_ns = watched.shortest_chunk_ns;
      chunks.here = chunks.moved = share->move(watched.item.ref.item).chunks;
    }
    item.track = watched.track;
    record_start(item, watched.start);
    record_end(item, watched.end);
  }

  Share take(const ShareRecords& records) {
    const auto share = write(records);
    Share taken = std::move(*share);
    shares_.erase(share);
    return taken;
  }

  void hand_in() {
    send(coordinator_, Collected{self_, done_, std::exchange(shares_, {})});
    quit();
  }

  caf::actor agent_;
  const std::uint32_t run_;
  const ResourceId self_;
  caf::actor coordinator_;
  LinkUse* const use_;
  std::vector<Share> shares_;  // that are out
  std::uint64_t done_ = 0;
  bool is_collecting_ = false;
  bool is_lost_ = false;
  CrashReasons crash_;
};

}  // namespace

caf::actor spawn_stand_in(caf::actor_system& system, const caf::actor& agent, std::uint32_t run,
                          ResourceId resource, const caf::actor& coordinator, LinkUse* use) {
  caf::actor_config config;
  return system.spawn_class<StandIn, caf::no_spawn_options>(config, agent, run, resource,
                                                            coordinator, use);
}

}  // namespace troupe
