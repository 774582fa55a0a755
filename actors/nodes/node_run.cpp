#include "actors/nodes/node_run.hpp"

#include "actors/crash_reasons.hpp"
#include "actors/execution.hpp"
#include "actors/run_setting.hpp"
#include "actors/warm_up.hpp"
#include "core/backend/cuda/cuda_backend.hpp"
#include "core/base/error.hpp"
#include "core/machine/discover.hpp"
#include "core/machine/prepare_machine.hpp"
#include "core/memory/digest.hpp"
#include "core/result/results.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace troupe {
namespace {

// Takes the coordinator's place on a node: sends what resources send to it to the leader.
class ToLeader final : public caf::event_based_actor {
 public:
  ToLeader(caf::actor_config& config, const RunContext* context, caf::actor leader,
           std::uint32_t run, Duration clock_offset)
      : caf::event_based_actor(config),
        context_(*context),
        leader_(std::move(leader)),
        run_(run),
        clock_offset_(clock_offset) {
    set_exception_handler([this](std::exception_ptr& cause) { return crash_.take(cause); });
    set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  }

  caf::behavior make_behavior() override {
    return {
        [this](const Ready& ready) {
          monitor(current_sender());
          known_[current_sender()->id()] = ready.resource;
          pass_on(ready.resource, ready);
        },
        [this](const Progress& progress) { pass_on(progress.resource, progress); },
        [this](const Watched& watched) {
          Watched there = watched;
          if (there.end != Share::never) {
            there.start += clock_offset_;
            there.end += clock_offset_;
          }
          pass_on(there.item.ref.resource, there);
        },
        [this](const Failure& failure) { pass_on(failure.resource, failure); },
        [this](Status& status) {
          // Small tensors count as sent before the wire has a connection for them.
          if (!context_.network->is_quiet()) ++status.status.in_flight;
          if (std::exchange(counted_round_, status.round) != status.round) {
            const NetworkPort::Counts counts = context_.network->counts();
            status.status.chunks_sent = counts.sent;
            status.status.chunks_arrived = counts.arrived;
          }
          pass_on(status.status.resource, status);
        },
        [this](const ShareComplete& complete) {
          pass_on(complete.resource, ShareDone{complete.done, records(complete.share)});
        },
        [this](const Collected& last) {
          LastRecords left{.done = last.done, .records = {}, .use = {}};
          if (const LinkUse* const use = context_.use_of(last.resource)) left.use = use->figures();
          for (const Share& share : last.shares) left.records.push_back(records(share));
          known_.erase(current_sender()->id());
          pass_on(last.resource, left);
        },
    };
  }

  void on_exit() override { leader_ = nullptr; }

 private:
  ShareRecords records(const Share& share) const { return ShareRecords(share, clock_offset_); }
  // An actor that ends before it has handed in its shares has crashed.
  void on_down(const caf::down_msg& down) {
    const auto crashed = known_.find(down.source.id());
    if (crashed == known_.end()) return;
    const ResourceId resource = crashed->second;
    pass_on(resource, Failure{resource,
                              {},
                              CrashReasons::describe(resource_name(context_.machine, resource),
                                                     down.reason)});
    pass_on(resource, LastRecords{});
  }
  template <class Message>
  void pass_on(ResourceId resource, const Message& message) {
    caf::anon_send(leader_, run_, resource, message);
  }

  const RunContext& context_;
  caf::actor leader_;
  const std::uint32_t run_;
  const Duration clock_offset_;
  std::unordered_map<caf::actor_id, ResourceId> known_;  // that have not handed in their shares
  std::uint64_t counted_round_ = 0;                      // whose statuses have the chunks already
  CrashReasons crash_;
};

// A memory that is on no node: a switch. On a machine of one node, where nothing is elsewhere, any:
// what has no reader takes no memory.
MemoryId elsewhere(const Machine& machine) {
  for (std::size_t m = 0; m < machine.memories.size(); ++m) {
    if (joins_nodes(machine, MemoryId::at(m))) return MemoryId::at(m);
  }
  return MemoryId{0};
}

// The parts of this host that the machine leaves open.
Machine completed(Machine machine, NodeId self) {
  Machine own;
  own.name = machine.name;
  std::copy_if(machine.devices.begin(), machine.devices.end(), std::back_inserter(own.devices),
               [&](const Device& d) { return d.node == self; });
  assign_cores(own, discover_host());
  auto completed = own.devices.begin();
  for (Device& device : machine.devices) {
    if (device.node == self) device.cores = (completed++)->cores;
  }
  return machine;
}

}  // namespace

std::vector<GpuOfDevice> gpus_of_node(const Machine& machine, NodeId self, Mode mode) {
  static_cast<void>(make_run_setting(mode, machine, false, Nodes::several, self));
  if (has_virtual_time(mode)) return {};
  return demand_gpus_of_devices(machine, self);
}

NodeTensors::NodeTensors(const BeginRun& begin, Mode mode)
    : self_(begin.self),
      machine_(has_virtual_time(mode) ? begin.machine : completed(begin.machine, self_)),
      setting_(make_run_setting(mode, machine_, false, Nodes::several, self_)),
      store_(machine_, setting_.backing,
             begin.grows ? MemoryStore::Counting::announced : MemoryStore::Counting::acquired,
             self_, setting_.make_space) {}

void NodeTensors::prepare(const BeginRun& begin, const std::function<bool()>& keep_going) {
  setting_.widest_team = begin.widest_team;
  const std::vector<ReplicaSpec> replicas = begin.replicas.unpack(elsewhere(machine_), machine_);
  const std::vector<TensorType> types = begin.replicas.types();
  // Those of a run that another node could not begin have never come, nor have those of a run that
  // this node takes part in only now.
  const std::vector<ReplicaSpec> missed(begin.first.index() - store_.replica_count(),
                                        ReplicaSpec{.memory = elsewhere(machine_)});
  store_.install(missed, types);
  store_.keep_only(begin.kept);
  store_.reserve_buffers(replicas, types,
                         buffers_at_once(begin.replicas.at_once(), machine_, self_), keep_going);
  if (!keep_going()) throw run_error("its leader is gone");
  store_.install(replicas, types);
}

void NodeTensors::check_sound() const {
  if (failure_) throw *failure_;
}

// What follows relies on what has failed.
template <class Work>
void NodeTensors::attempt(const Work& work) {
  if (failure_) return;
  try {
    work();
  } catch (const Error& error) {
    failure_ = error;
  } catch (const std::exception& error) {
    failure_ = run_error(error.what());
  }
}

void NodeTensors::change(const ChangeTensors& change, const std::function<bool()>& keep_going) {
  attempt([&] {
    const std::vector<ReplicaSpec> added = change.added.unpack(elsewhere(machine_), machine_);
    const std::vector<TensorType> types = change.added.types();
    for (const ReplicaId r : change.read_again) store_.add_readers(r, 1);
    for (const ReplicaId r : change.released) store_.release(r);
    store_.reserve_buffers(added, types, change.added.at_once(), keep_going);
    store_.install(added, types);
  });
}

void NodeTensors::renumber(const RenumberTensors& renumber) {
  attempt([&] {
    for (const ReplicaId r : renumber.released) store_.release(r);
    store_.renumber(renumber.kept);
  });
}

void NodeTensors::give(const GiveValues& part) {
  attempt([&] {
    if (part.offset == 0) store_.acquire(part.tensor);
    store_.write(part.tensor, std::as_bytes(std::span(part.bytes)), part.offset);
  });
}

NodeRun::NodeRun(const BeginRun& begin, NodeTensors& tensors, const OpRegistry& ops, Wire& wire,
                 const caf::actor& leader, std::shared_ptr<ActorSystemSetup> rehearsal)
    : number_(begin.run),
      self_(tensors.self()),
      ops_(ops),
      tensors_(tensors),
      port_(wire, number_, self_, [this](const ChunkMove::Next& item) { on_chunk(item); }),
      setup_(rehearsal ? std::move(rehearsal) : std::make_shared<ActorSystemSetup>(false, 0)),
      uses_(tensors.machine().links.size()),
      context_{tensors.machine(), ops_,         tensors.store(), setup_->clock(),
               tensors.setting(), interrupted_, &port_,          uses_},
      resources_(*setup_, tensors.machine(), true, &port_) {
  setup_->start_shared_thread();
  caf::actor_config config;
  to_leader_ = setup_->system().spawn_class<ToLeader, caf::no_spawn_options>(
      config, &context_, leader, number_, begin.clock_offset);
}

const std::string& NodeRun::name() const {
  return tensors_.machine().nodes[self_.index()];
}

NodeRun::~NodeRun() {
  interrupt();
  {
    const std::lock_guard lock(joining_);
    joined_.clear();
  }
  for (const caf::actor& resource : *resources_.actors()) {
    if (resource) caf::anon_send_exit(resource, caf::exit_reason::kill);
  }
  caf::anon_send_exit(to_leader_, caf::exit_reason::kill);
  std::vector<caf::actor> actors = *resources_.actors();
  actors.push_back(to_leader_);
  setup_->settle(std::move(actors));
  setup_->let_pass_until([this] { return port_.is_quiet(); });
}

void NodeRun::ready(std::span<const BeginRun::Samples> samples) {
  for (const auto& [device, packed] : samples) {
    const Share share = unpack(packed);
    load_kernels(ops_, share);
    warm_up_kernels(context_, device, share);
  }
}

Share NodeRun::unpack(const PackedShare& packed) {
  std::deque<Attrs> attrs;
  Share share = packed.unpack(ops_, attrs);
  if (!attrs.empty()) attrs_.emplace(share.window, std::move(attrs));
  return share;
}

void NodeRun::forget_before(std::uint32_t window) {
  attrs_.erase(attrs_.begin(), attrs_.lower_bound(window));
}

void NodeRun::join(ResourceId resource) {
  if (resources_.has(resource)) return;
  const std::array<ResourceId, 1> joining{resource};
  resources_.add(
      joining,
      [this](ResourceId r, caf::execution_unit* thread) {
        return spawn_resource(setup_->system(), context_, r, to_leader_, thread);
      },
      ErrorKind::failed, [] { return true; });
  const caf::actor& actor = resources_[resource];
  caf::anon_send<caf::message_priority::high>(actor, Introduce{resources_.actors()});
  const std::lock_guard lock(joining_);
  joined_.emplace(resource.value, actor);
  for (const Notice& notice : early_[resource.value]) caf::anon_send(actor, notice);
  early_.erase(resource.value);
}

// Where windows overlap, the leader tells a resource to join while others of the node work for it.
void NodeRun::join_neighbours(const Share& share) {
  const auto join_if_own = [this](ResourceId resource) {
    if (resource && resource_node(context_.machine, resource) == self_) join(resource);
  };
  for (const ItemRef& item : share.elsewhere) join_if_own(item.resource);
  for (const Share::LateEdge& edge : share.late) join_if_own(edge.to.resource);
}

void NodeRun::assign(ResourceId resource, const PackedShare& packed) {
  tensors_.check_sound();
  Share share = unpack(packed);
  join_neighbours(share);
  load_kernels(ops_, share);
  caf::anon_send(resources_[resource], AssignShare{std::move(share)});
}

void NodeRun::on_chunk(const ChunkMove::Next& item) {
  Notice notice{.window = item.window, .count = 1, .item = {}};
  notice.item[0] = item.item;
  const std::lock_guard lock(joining_);
  const auto link = joined_.find(item.resource);
  if (link == joined_.end()) {
    early_[item.resource].push_back(notice);
  } else {
    caf::anon_send(link->second, notice);
  }
}

Digests NodeTensors::digests(const DigestsRequest& request) {
  check_sound();
  read_ = {};
  Digests made;
  try {
    for (const auto& [result, is_kept] : request.results) {
      made.digests.push_back(is_kept ? digest_of(results_.values(result)) : store_.digest(result));
    }
  } catch (const Error&) {
    if (made.digests.empty()) throw;
  }
  return made;
}

Values NodeTensors::values(const ValuesRequest& request) {
  check_sound();
  // A result is asked for part by part, and may be in a file.
  if (read_ != request.result || request.offset == 0)
    read_values_ = results_.values(request.result);
  read_ = request.result;
  const std::uint64_t size = read_values_.size();
  const std::uint64_t begin = std::min(request.offset, size);
  const std::span<const std::byte> part =
      read_values_.subspan(begin, std::min(request.bytes, size - begin));
  const char* const bytes = reinterpret_cast<const char*>(part.data());
  return {std::vector<char>(bytes, bytes + part.size())};
}

}  // namespace troupe
