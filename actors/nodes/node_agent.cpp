#include "actors/nodes/node_agent.hpp"

#include "actors/nodes/node_files.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "core/base/error.hpp"
#include "core/base/steady_now.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

class Agent final : public caf::event_based_actor {
 public:
  Agent(caf::actor_config& config, AgentOptions options)
      : caf::event_based_actor(config), options_(std::move(options)), ops_(options_.ops) {
    set_down_handler([this](const caf::down_msg& down) {
      if (!service_ || service_->leader().address() != down.source) return;
      if (!has_said_goodbye_) options_.on_leader_lost(leader_name_);
      service_.reset();
      options_.on_leader_gone();
    });
  }

  caf::behavior make_behavior() override {
    return {
        [this](const Hello& hello) { return answer([&] { return greet(hello); }); },
        [this](GpusRequest) {
          return answer([&] {
            if (options_.machine_with_gpus) return caf::make_message(options_.machine_with_gpus());
            return caf::make_message(MachineIs{options_.machine(), "it has no GPUs"});
          });
        },
        [this](const OwnGpusRequest& request) {
          return answer([&] {
            check_gpus(request.machine, request.self);
            return caf::make_message(OwnGpusAre{service().gpus(request.machine, request.self)});
          });
        },
        [](const FilesRequest& request) {
          return answer([&] {
            check_files(request);
            return caf::make_message(Prepared{});
          });
        },
        [this](Reconnect reconnect) {
          return answer([&] {
            service().reconnect(reconnect);
            return caf::make_message(Reconnected{service().address()});
          });
        },
        [this](const BeginRun& begin) {
          return answer([&] {
            check_gpus(begin.machine, begin.self);
            service().begin_run(begin);
            return caf::make_message(Prepared{});
          });
        },
        [this](const ChangeTensors& change) {
          if (service_) service_->change(change);
        },
        [this](const RenumberTensors& renumber) {
          return answer([&] {
            service().renumber(renumber);
            return caf::make_message(Prepared{});
          });
        },
        [this](const GiveValues& part) {
          return answer([&] {
            if (service_) service_->give(part);
            return caf::make_message(Prepared{});
          });
        },
        [this](EndRun) {
          if (is_from_leader()) service_->end_run();
        },
        [this](const Disconnect& loss) {
          if (is_from_leader()) service_->disconnect(loss.cause);
        },
        [this](Goodbye) {
          has_said_goodbye_ = has_said_goodbye_ || is_from_leader();
          return Prepared{};
        },
        [](ClockRequest) { return ClockIs{steady_now()}; },
        [](StillThere question) { return question; },
        [this](const DigestsRequest& request) {
          return answer([&] { return caf::make_message(tensors().digests(request)); });
        },
        [this](const ValuesRequest& request) {
          return answer([&] { return caf::make_message(tensors().values(request)); });
        },
        // To the resources of the run.
        [this](std::uint32_t number, ResourceId resource, const PackedShare& share) {
          with_run(number, resource, [&](NodeRun& run) { run.assign(resource, share); });
        },
        [this](std::uint32_t number, ResourceId resource, JoinRun) {
          with_run(number, resource, [&](NodeRun& run) { run.join(resource); });
        },
        // One that could not join has nothing to say and nothing to hand in.
        [this](std::uint32_t number, ResourceId resource, const StatusRequest& ask) {
          with_run(number, resource, [&](NodeRun& run) {
            if (run.has(resource)) return run.pass_on(resource, ask);
            tell(number, resource, Status{ask.round, {.resource = resource}});
          });
        },
        [this](std::uint32_t number, ResourceId resource, const Watch& watch) {
          with_run(number, resource, [&](NodeRun& run) { run.pass_on(resource, watch); });
        },
        [this](std::uint32_t number, ResourceId resource, Stop) {
          with_run(number, resource, [&](NodeRun& run) { run.stop(resource); });
        },
        [this](std::uint32_t number, ResourceId resource, const Collect& collect) {
          with_run(number, resource, [&](NodeRun& run) {
            if (run.has(resource)) return run.collect(resource, collect);
            tell(number, resource, LastRecords{});
          });
        },
    };
  }

  void on_exit() override { service_.reset(); }

 private:
  void check_gpus(const Machine& machine, NodeId self) const {
    if (options_.lends_gpus) return;
    for (const Device& device : machine.devices) {
      if (device.node != self || device.kind != DeviceKind::gpu) continue;
      throw usage_error(fmt::format("'{}' is a GPU, and this node lends none", device.name),
                        "start `troupe node` without --no-gpus, or leave its GPUs out");
    }
  }
  static Error works_for_another() {
    return run_error("it works for another leader", "wait until that is done");
  }
  // What `work` returns, or a Refusal.
  template <class Work>
  static caf::message answer(const Work& work) {
    try {
      return work();
    } catch (const Error& error) {
      return caf::make_message(Refusal{PackedError(error)});
    } catch (const std::exception& error) {
      return caf::make_message(Refusal{PackedError(run_error(error.what()))});
    }
  }

  caf::message greet(const Hello& hello) {
    if (service_ && service_->leader() != hello.leader) {
      if (process_ == hello.process) {
        throw run_error("another session of this program has it", "end that one first");
      }
      throw works_for_another();
    }
    if (service_ && !hello.begins_anew) {
      throw usage_error("another of the addresses is that of the same node", "name each node once");
    }
    OpRegistry kinds = kinds_of(hello);
    service_.reset();
    service_ =
        std::make_unique<NodeService>(system(), std::move(kinds), hello.leader, options_.make_wire,
                                      hello.uses_shared_memory, options_.rehearsal);
    process_ = hello.process;
    leader_name_ = hello.leader_name;
    has_said_goodbye_ = false;
    monitor(hello.leader);
    options_.on_leader();
    return caf::make_message(Welcome{.name = options_.name,
                                     .host = host_id(),
                                     .pids = pid_namespace(),
                                     .clock = clock_namespace(),
                                     .machine = options_.machine(),
                                     .address = service_->address()});
  }

  // The leader's kinds, with the ids that they have there.
  OpRegistry kinds_of(const Hello& hello) const {
    OpRegistry kinds;
    std::vector<std::string> differing;
    for (const auto& [name, signature] : hello.kinds) {
      const OpKindId own = ops_.find(name);
      if (!own) {
        differing.push_back(fmt::format("'{}' it doesn't have", name));
        continue;
      }
      kinds.add(ops_[own]);
      const std::string is = signature_of(ops_[own]);
      if (is == signature) continue;
      differing.push_back(fmt::format("'{}' has ({}) there and ({}) here", name, is, signature));
    }
    for (const std::string_view name : ops_.names()) {
      if (hello.needs_no_others || kinds.find(name)) continue;
      differing.push_back(fmt::format("'{}' only it has", name));
    }
    if (differing.empty()) return kinds;
    throw usage_error(
        fmt::format("its op kinds are others: {}", fmt::join(differing, ", ")),
        hello.needs_no_others  // a program, which has no --ops
            ? "start the node, or `troupe launch`, with --ops for the libraries that have them"
            : "start the node and the leader with --ops for the same libraries");
  }

  // Whether the message that is being handled comes from the process of the leader. Messages
  // without a sender have the number of their run instead, which no other leader uses.
  bool is_from_leader() {
    const caf::strong_actor_ptr& from = current_sender();
    return service_ && from && from->node() == service_->leader().node();
  }
  NodeService& service() {
    if (is_from_leader()) return *service_;
    if (service_) throw works_for_another();
    throw usage_error("it works for no leader", "say hello first");
  }
  NodeTensors& tensors() {
    if (NodeTensors* const tensors = service().tensors()) return *tensors;
    throw run_error("no run is on");
  }

  template <class Message>
  void tell(std::uint32_t number, ResourceId resource, const Message& message) {
    caf::anon_send(service_->leader(), number, resource, message);
  }
  // A failure is that of the resource.
  template <class Work>
  void with_run(std::uint32_t number, ResourceId resource, const Work& work) {
    NodeRun* const run = service_ ? service_->run() : nullptr;
    if (run == nullptr || run->number() != number) return;
    try {
      work(*run);
    } catch (const std::exception& error) {
      tell(number, resource,
           Failure{resource, {}, fmt::format("node {}: {}", run->name(), error.what())});
    }
  }

  const AgentOptions options_;
  const OpRegistry& ops_;
  std::unique_ptr<NodeService> service_;
  std::uint64_t process_ = 0;  // of its leader
  std::string leader_name_;
  bool has_said_goodbye_ = false;  // the leader
};

}  // namespace

caf::actor spawn_agent(caf::actor_system& system, AgentOptions options,
                       caf::execution_unit* thread) {
  caf::actor_config config(thread);
  return system.spawn_class<Agent, caf::no_spawn_options>(config, std::move(options));
}

}  // namespace troupe
