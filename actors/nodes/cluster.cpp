#include "actors/nodes/cluster.hpp"

#include "actors/node_resources.hpp"
#include "actors/nodes/asked_nodes.hpp"
#include "actors/nodes/cluster_nodes.hpp"
#include "actors/nodes/connect_nodes.hpp"
#include "actors/nodes/control_system.hpp"
#include "actors/nodes/node_files.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "actors/nodes/node_question.hpp"
#include "actors/nodes/nodes_machine.hpp"
#include "actors/nodes/rehearsed_nodes.hpp"
#include "actors/nodes/remote_tensors.hpp"
#include "actors/run_setting.hpp"
#include "actors/warm_up.hpp"
#include "core/base/error.hpp"
#include "core/machine/prepare_machine.hpp"
#include "core/network/socket_wire.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {
namespace {

std::size_t number_of(const std::vector<bool>& flags) {
  return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
}

bool is_any(const std::vector<bool>& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// What the devices of a node will compute in the first windows; later ones mostly have the same.
std::vector<BeginRun::Samples> samples_of(const Plan& plan, const Machine& machine, NodeId node) {
  constexpr std::size_t windows_max = 64;
  std::vector<BeginRun::Samples> samples;
  const std::size_t windows = std::min(plan.windows.size(), windows_max);
  for (const Window& window : std::span(plan.windows).first(windows)) {
    for (const auto& [resource, share] : window.shares) {
      const bool is_device = resource.index() < machine.devices.size();
      if (!is_device || resource_node(machine, resource) != node) continue;
      samples.push_back({resource, PackedShare(kernel_samples(share))});
    }
  }
  return samples;
}

}  // namespace

class Cluster::Impl final : public NodeResources {
 public:
  Impl(const OpRegistry& ops, const ClusterOptions& options)
      : ops_(ops),
        options_(options),
        control_(options.rehearsed ? ControlSystem(options.rehearsed->setup)
                                   : ControlSystem(options.node_timeout)),
        nodes_(control_.system()),
        asked_(control_.system(), nodes_, options_.interrupted) {
    std::vector<ConnectedNode> nodes =
        connect_nodes(control_.system(), nodes_.leader(), ops, options_);
    try {
      check_alike(nodes, options.uses_shared_memory);
      uses_tls_for_tensors_ = is_tls_wire(nodes.front().has.address);
      name_nodes(nodes);
      machine_ = join_machines(nodes);
    } catch (const Error&) {
      if (!options_.rehearsed) troupe::say_goodbye(control_.system(), nodes);
      throw;
    }
    nodes_.join(std::move(nodes));
  }

  const ClusterNodes& nodes() const { return nodes_; }
  void say_goodbye() {
    if (options_.rehearsed) return;
    const std::vector<bool> lost = nodes_.lost();
    std::vector<ConnectedNode> there;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (!lost[n]) there.push_back(nodes_[n]);
    }
    troupe::say_goodbye(control_.system(), there);
  }
  std::string await_disconnection() {
    const std::chrono::milliseconds pause(1);
    // A node that has ended is missed in milliseconds. One that is silent fails transfers where
    // connections to it are still to be made, and is suspected then.
    const Duration limit = std::max<Duration>(
        std::min<Duration>(options_.node_timeout, std::chrono::seconds(3)), 2 * suspicion_time);
    const Instant begun = present(control_.system());
    std::string why = nodes_.disconnection();
    const auto may_be_known = [&] {
      return nodes_.has_suspicion() || present(control_.system()) - begun < limit;
    };
    while (why.empty() && !is_interrupted() && may_be_known()) {
      rest_for(control_.system(), pause);
      why = nodes_.disconnection();
    }
    return why;
  }
  Replaced replace_lost_nodes(const Machine& machine, Duration limit) {
    const Instant begun = present(control_.system());
    Replaced replaced;
    for (std::vector<bool> lost = nodes_.lost(); is_any(lost); lost = nodes_.lost()) {
      replaced.nodes.resize(lost.size());
      for (std::size_t n = 0; n < lost.size(); ++n) {
        if (!lost[n]) continue;
        say(fmt::format("{} was lost; waiting for another one there, for {} at most",
                        nodes_[n].label(), format_duration(limit)));
      }
      for (std::size_t n = 0; n < lost.size(); ++n) {
        if (!lost[n]) continue;
        replace(n, machine, begun, limit);
        replaced.nodes[n] = true;
        say(nodes_[n].label() + " has joined");
      }
    }
    replaced.waited = present(control_.system()) - begun;
    return replaced;
  }
  const Machine& machine() const { return machine_; }
  void add_gpus() {
    has_gpus_ = true;
    std::vector<MachineIs> answers =
        asked_.ask_all<MachineIs>([](std::size_t) { return GpusRequest{}; });
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (has_any_gpu(answers[n].machine)) {  // it isn't lost, and lends some
        nodes_.set_machine(n, std::move(answers[n].machine));
      }
    }
    machine_ = join_machines(nodes_.all());
    nodes_without_gpus_ = name_those_without_gpus(nodes_.all(), answers);
    if (!has_any_gpu(machine_)) {
      throw usage_error(fmt::format("GPUs are asked for, and none of the nodes has any ({})",
                                    fmt::join(nodes_without_gpus_, "; ")),
                        "name nodes that lend some, or don't ask: `gpus: true`, `.node_gpus`");
    }
    for (const std::string& news : nodes_without_gpus_) say(news);
  }
  void complete(Machine& machine) {
    gpus_.clear();
    if (!has_any_gpu(machine)) return;
    // What is wrong with the file is said with its place, which the nodes don't know.
    const Mode mode = options_.rehearsed ? Mode::rehearse : Mode::run;
    static_cast<void>(make_run_setting(mode, machine, false, Nodes::several));
    const std::vector<OwnGpusAre> answers = asked_.ask_all<OwnGpusAre>(
        [&](std::size_t n) { return OwnGpusRequest{.self = NodeId::at(n), .machine = machine}; });
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      check_own(answers[n].gpus, machine, NodeId::at(n));
      gpus_.insert(gpus_.end(), answers[n].gpus.begin(), answers[n].gpus.end());
    }
    limit_gpu_memories(machine, gpus_);
  }
  std::int64_t widest_team(const Machine& machine) const {
    return troupe::widest_team(with_all_cores(machine, machine_));
  }
  const std::vector<GpuOfDevice>& gpus() const { return gpus_; }
  const std::vector<std::string>& nodes_without_gpus() const { return nodes_without_gpus_; }
  bool uses_tls_for_tensors() const { return uses_tls_for_tensors_; }

  void check_files(const Graph& graph, const Machine& machine, std::span<const Plan> plans) {
    const std::vector<FilesRequest> requests = files_of_nodes(graph, machine, plans);
    if (std::all_of(requests.begin(), requests.end(),
                    [](const auto& r) { return r.files.empty(); })) {
      return;
    }
    asked_.ask_all<Prepared>([&](std::size_t n) { return requests[n]; });
  }

  void begin_run(const Machine& machine, const Plan& plan, std::int64_t widest_team, UnitId first,
                 std::span<const MemoryStore::Kept> kept, std::span<const TensorType> types,
                 bool grows) {
    const std::uint32_t run = nodes_.begin_run(machine);
    reconnect();
    const auto added = plan.replicas.slice(first.index(), plan.replicas.size() - first.index());
    tensors_.begin_run(run, machine);
    for (const Plan::Result& result : plan.results) {
      tensors_.find_result(plan, result.replica, result.is_kept, types);
    }
    std::vector<std::string> addresses;
    const std::vector<bool> lost = nodes_.lost();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      addresses.push_back(lost[n] ? std::string() : nodes_[n].has.address);
    }
    asked_.ask_all<Prepared>([&](std::size_t n) {
      return BeginRun{
          .run = run,
          .self = NodeId::at(n),
          .machine = with_own_cores(machine, NodeId::at(n), machine_, nodes_[n].has.machine),
          .addresses = addresses,
          .clock_offset = nodes_[n].clock_offset,
          .first = ReplicaId{first.value},
          .kept = {kept.begin(), kept.end()},
          .replicas = PackedReplicas(added, types, plan.buffers, machine, NodeId::at(n)),
          .widest_team = widest_team,
          .samples = samples_of(plan, machine, NodeId::at(n)),
          .grows = grows};
    });
  }

  caf::actor spawn_stand_in(caf::actor_system& system, ResourceId resource,
                            const caf::actor& coordinator, LinkUse* use) override {
    return nodes_.spawn_stand_in(system, resource, coordinator, use);
  }

  std::shared_ptr<ActorSystemSetup> shared_setup() override {
    return options_.rehearsed ? options_.rehearsed->setup : nullptr;
  }

  void end_run() { nodes_.end_run(); }
  RemoteTensors& tensors() { return tensors_; }

 private:
  void say(const std::string& news) const {
    if (options_.on_news) options_.on_news(news);
  }

  void replace(std::size_t n, const Machine& machine, Instant begun, Duration limit) {
    const Instant end = begun + limit;
    try {
      while (true) {
        ConnectedNode node =
            await_node(control_.system(), nodes_.leader(), ops_, options_, NodeId::at(n), end);
        try {
          if (take_gpus(n, machine, node, end)) return take_in(n, node);
        } catch (const Error&) {
          if (!options_.rehearsed) troupe::say_goodbye(control_.system(), std::span(&node, 1));
          throw;
        }
        if (is_interrupted()) throw run_error("it was waited for no longer");
      }
    } catch (const Error& error) {
      const Duration waited = present(control_.system()) - begun;
      throw run_error(
          fmt::format("{} was lost, and no other one has taken its place{}: {}", nodes_[n].label(),
                      waited < limit ? "" : " in " + format_duration(limit), error.problem()),
          error.remedy());
    }
  }
  // Asks what takes the place of node n for its GPUs. False if it has been lost meanwhile.
  bool take_gpus(std::size_t n, const Machine& machine, ConnectedNode& node, Instant end) {
    if (has_gpus_) {
      std::optional<MachineIs> is = ask<MachineIs>(node, GpusRequest{}, end);
      if (!is) return false;
      if (!is->why_no_gpus.empty() && has_any_gpu(nodes_[n].has.machine)) {
        throw run_error(is->why_no_gpus);
      }
      node.has.machine = std::move(is->machine);
    }
    if (has_any_gpu(machine)) {
      const OwnGpusRequest request{.self = NodeId::at(n), .machine = machine};
      const std::optional<OwnGpusAre> own = ask<OwnGpusAre>(node, request, end);
      if (!own) return false;
      check_own(own->gpus, machine, NodeId::at(n));
      check_fit(own->gpus, machine);
      replace_gpus(machine, NodeId::at(n), own->gpus);
    }
    return true;
  }
  void replace_gpus(const Machine& machine, NodeId node, const std::vector<GpuOfDevice>& gpus) {
    std::erase_if(gpus_,
                  [&](const GpuOfDevice& gpu) { return machine.device(gpu.device).node == node; });
    gpus_.insert(gpus_.end(), gpus.begin(), gpus.end());
    std::sort(gpus_.begin(), gpus_.end(),
              [](const GpuOfDevice& a, const GpuOfDevice& b) { return a.device < b.device; });
  }
  void take_in(std::size_t n, ConnectedNode node) {
    check_fit(node.has.machine, nodes_[n].has.machine);
    node.has.name = nodes_[n].has.name;
    nodes_.replace(n, std::move(node));
    check_alike(nodes_.all(), options_.uses_shared_memory);
  }

  // If nodes have closed their connections, they get new ones, which have nothing of the old ones.
  void reconnect() {
    const std::optional<std::uint32_t> epoch = nodes_.begin_epoch();
    if (!epoch) return;
    const std::vector<bool> lost = nodes_.lost();
    const bool is_alone = number_of(lost) + 1 == lost.size();
    std::vector<Reconnected> answers = asked_.ask_all<Reconnected>(
        [&](std::size_t) { return Reconnect{.epoch = *epoch, .is_alone = is_alone}; });
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (!lost[n]) nodes_.set_address(n, std::move(answers[n].address));
    }
  }

  // Asks one that takes the place of a lost node. Nullopt if it is lost, too.
  template <class Answer, class Request>
  std::optional<Answer> ask(const ConnectedNode& node, const Request& request, Instant end) {
    NodeQuestion question(control_.system(), node.agent, request, options_.interrupted);
    try {
      const Duration left = end - present(control_.system());
      return question.answer<Answer>(std::max<Duration>(left, std::chrono::milliseconds(100)));
    } catch (const Error&) {
      if (question.is_node_lost()) return {};
      throw;
    }
  }

  bool is_interrupted() const { return options_.interrupted != nullptr && *options_.interrupted; }

  const OpRegistry& ops_;
  const ClusterOptions options_;
  ControlSystem control_;
  ClusterNodes nodes_;
  Machine machine_;
  bool uses_tls_for_tensors_ = false;
  bool has_gpus_ = false;  // the machine
  std::vector<std::string> nodes_without_gpus_;
  std::vector<GpuOfDevice> gpus_;  // of the machine that was completed
  AskedNodes asked_;
  RemoteTensors tensors_{asked_};
};

Cluster::Cluster(const OpRegistry& ops, const ClusterOptions& options)
    : impl_(std::make_unique<Impl>(ops, options)) {}
Cluster::~Cluster() {
  say_goodbye();
}

void Cluster::say_goodbye() {
  impl_->say_goodbye();
}
bool Cluster::has_ever_lost_node() const {
  return impl_->nodes().has_ever_lost();
}
std::vector<bool> Cluster::lost_nodes() const {
  return impl_->nodes().lost();
}
std::string Cluster::why_lost(NodeId node) const {
  return impl_->nodes().why_lost(node.index());
}
std::size_t Cluster::cuts() const {
  return impl_->nodes().cuts();
}
std::string Cluster::last_cut() const {
  return impl_->nodes().last_cut();
}
std::string Cluster::await_disconnection() const {
  return impl_->await_disconnection();
}
Replaced Cluster::replace_lost_nodes(const Machine& machine, Duration limit) {
  return impl_->replace_lost_nodes(machine, limit);
}
bool Cluster::uses_tls_for_tensors() const {
  return impl_->uses_tls_for_tensors();
}
const Machine& Cluster::machine() const {
  return impl_->machine();
}
void Cluster::add_gpus() {
  impl_->add_gpus();
}
void Cluster::complete(Machine& machine) {
  impl_->complete(machine);
}
const std::vector<GpuOfDevice>& Cluster::gpus() const {
  return impl_->gpus();
}
const std::vector<std::string>& Cluster::nodes_without_gpus() const {
  return impl_->nodes_without_gpus();
}
std::int64_t Cluster::widest_team(const Machine& machine) const {
  return impl_->widest_team(machine);
}
void Cluster::check(const Machine& machine) {
  impl_->begin_run(machine, Plan{}, 1, UnitId{0}, {}, {}, false);
  impl_->end_run();
}
void Cluster::check_files(const Graph& graph, const Machine& machine, std::span<const Plan> plans) {
  impl_->check_files(graph, machine, plans);
}
void Cluster::begin_run(const Machine& machine, const Plan& plan, std::int64_t widest_team,
                        UnitId first, std::span<const MemoryStore::Kept> kept,
                        std::span<const TensorType> types) {
  impl_->begin_run(machine, plan, widest_team, first, kept, types, false);
}
void Cluster::begin_growing(const Machine& machine, std::int64_t widest_team) {
  impl_->begin_run(machine, Plan{}, widest_team, UnitId{0}, {}, {}, true);
}
RemoteTensors& Cluster::tensors() {
  return impl_->tensors();
}
NodeResources& Cluster::resources() {
  return *impl_;
}
void Cluster::end_run() {
  impl_->end_run();
}

}  // namespace troupe
