#include "actors/nodes/node_service.hpp"

#include "core/base/error.hpp"

#include <utility>

namespace troupe {
namespace {

// Of a node that has no others any more. Its network may be down.
class NoPeers final : public Wire {
 public:
  std::string address() const override { return {}; }
  void connect(NodeId, const std::string&) override {}
  void send(NodeId, const ChunkHeader&, const std::byte*, ChunkDone done) override {
    done("there are no other nodes");
  }
  bool take(ArrivedChunk, std::byte*, ChunkDone) override { return true; }
  void drop(ArrivedChunk) override {}
  bool post(std::function<void()>, bool) override { return false; }
  bool progress() override { return false; }
  void leave() override {}
};

// Sets a flag when an actor is gone, whatever others are doing.
class Watchman final : public caf::event_based_actor {
 public:
  Watchman(caf::actor_config& config, const caf::actor& watched,
           std::shared_ptr<std::atomic<bool>> is_gone)
      : caf::event_based_actor(config), is_gone_(std::move(is_gone)) {
    monitor(watched);
    set_down_handler([this](const caf::down_msg&) {
      *is_gone_ = true;
      quit();
    });
  }
  caf::behavior make_behavior() override {
    return {[](const caf::unit_t&) {}};
  }

 private:
  const std::shared_ptr<std::atomic<bool>> is_gone_;
};

}  // namespace

void Arrivals::use(Wire& wire, std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  wire_ = &wire;
  epoch_ = epoch;
}

void Arrivals::set_self(NodeId self) {
  const std::lock_guard lock(mutex_);
  self_ = self;
}

void Arrivals::set_run(NodeRun* run) {
  const std::lock_guard lock(mutex_);
  run_ = run;
}

void Arrivals::arrived(const ChunkHeader& header, ArrivedChunk chunk) {
  const std::lock_guard lock(mutex_);
  if (run_ != nullptr && run_->number() == header.run) return run_->arrived(header, chunk);
  wire_->drop(chunk);
}

void Arrivals::lost(NodeId node, const std::string& cause) {
  const std::lock_guard lock(mutex_);
  caf::anon_send(leader_,
                 NodeSuspected{.epoch = epoch_, .by = self_, .node = node, .cause = cause});
}

NodeService::NodeService(caf::actor_system& system, OpRegistry ops, caf::actor leader,
                         MakeWire make_wire, bool uses_shared_memory,
                         std::shared_ptr<ActorSystemSetup> rehearsal)
    : ops_(std::move(ops)),
      leader_(std::move(leader)),
      watchman_(system, system.spawn<Watchman>(leader_, is_leader_gone_)),
      make_wire_(std::move(make_wire)),
      uses_shared_memory_(uses_shared_memory),
      rehearsal_(std::move(rehearsal)),
      arrivals_(leader_) {
  connect(0, false);
}

NodeService::~NodeService() {
  disconnect("the leader of the run is gone");
  end_run();
}

std::vector<GpuOfDevice> NodeService::gpus(const Machine& machine, NodeId self) const {
  return gpus_of_node(machine, self, mode());
}

void NodeService::disconnect(const std::string& cause) {
  arrivals_.set_run(nullptr);
  if (run_) run_->abandon_network(cause);
  wire_.reset();
  why_disconnected_ = cause;
}

void NodeService::reconnect(const Reconnect& reconnect) {
  disconnect("the nodes connect anew");
  run_.reset();
  connect(reconnect.epoch, reconnect.is_alone);
}

void NodeService::begin_run(const BeginRun& begin) {
  arrivals_.set_run(nullptr);
  run_.reset();
  arrivals_.set_self(begin.self);
  if (wire_ == nullptr) throw run_error("its connections were closed, as " + why_disconnected_);
  for (std::size_t n = 0; n < begin.addresses.size() && !is_connected_; ++n) {
    const bool is_there = n != begin.self.index() && !begin.addresses[n].empty();
    if (is_there) wire_->connect(NodeId::at(n), begin.addresses[n]);
  }
  is_connected_ = true;
  // A node that takes the place of a lost one has nothing of the run so far.
  if (begin.first.index() == 0 || !tensors_) {
    tensors_.emplace(begin, mode());
  }
  tensors_->prepare(begin, keep_going());
  run_.emplace(begin, *tensors_, ops_, *wire_, leader_, rehearsal_);
  if (tensors_->setting().has_values()) run_->ready(begin.samples);
  arrivals_.set_run(&*run_);
}

void NodeService::change(const ChangeTensors& change) {
  if (!is_on(change.run)) return;
  run_->forget_before(change.first_window);
  tensors_->change(change, keep_going());
}

void NodeService::renumber(const RenumberTensors& renumber) {
  if (!is_on(renumber.run)) throw run_error("the run has ended");
  tensors_->renumber(renumber);
  tensors_->check_sound();
}

void NodeService::give(const GiveValues& part) {
  if (!is_on(part.run)) throw run_error("the run has ended");
  tensors_->give(part);
  tensors_->check_sound();
}

void NodeService::end_run() {
  arrivals_.set_run(nullptr);
  run_.reset();
  tensors_.reset();
}

void NodeService::connect(std::uint32_t epoch, bool is_alone) {
  if (is_alone) {
    wire_ = std::make_unique<NoPeers>();
  } else {
    wire_ = make_wire_(arrivals_, uses_shared_memory_);
  }
  arrivals_.use(*wire_, epoch);
  is_connected_ = false;
}

}  // namespace troupe
