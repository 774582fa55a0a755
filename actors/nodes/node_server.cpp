#include "actors/nodes/node_server.hpp"

#include "actors/actor_threads.hpp"
#include "actors/nodes/control_connection.hpp"
#include "actors/nodes/control_system.hpp"
#include "actors/nodes/node_protocol.hpp"
#include "actors/nodes/node_run.hpp"
#include "actors/nodes/node_wires.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/base/version.hpp"
#include "core/machine/host_memory.hpp"
#include "core/network/acceptor.hpp"
#include "core/network/host_port.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

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
  void take(ArrivedChunk, std::byte*, ChunkDone) override {}
  void drop(ArrivedChunk) override {}
};

// What comes from other nodes goes to the run that is on.
class Arrivals final : public WireListener {
 public:
  explicit Arrivals(caf::actor leader) : leader_(std::move(leader)) {}

  // From now on chunks come over `wire`. No other wire may be in use.
  void use(Wire& wire, std::uint32_t epoch) {
    const std::lock_guard lock(mutex_);
    wire_ = &wire;
    epoch_ = epoch;
  }
  void set_run(NodeRun* run) {
    const std::lock_guard lock(mutex_);
    run_ = run;
  }
  void arrived(const ChunkHeader& header, ArrivedChunk chunk) override {
    const std::lock_guard lock(mutex_);
    if (run_ != nullptr && run_->number() == header.run) return run_->arrived(header, chunk);
    wire_->drop(chunk);
  }
  void lost(NodeId node, const std::string& cause) override {
    const std::lock_guard lock(mutex_);
    caf::anon_send(leader_, NodeSuspected{.epoch = epoch_, .node = node, .cause = cause});
  }

 private:
  const caf::actor leader_;
  Wire* wire_ = nullptr;
  std::uint32_t epoch_ = 0;
  std::mutex mutex_;
  NodeRun* run_ = nullptr;
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

// What a node does for one leader.
class Service {
 public:
  Service(caf::actor_system& system, const OpRegistry& ops, caf::actor leader, NodeWires& wires,
          bool uses_shared_memory)
      : ops_(ops),
        leader_(std::move(leader)),
        watchman_(system, system.spawn<Watchman>(leader_, is_leader_gone_)),
        wires_(wires),
        uses_shared_memory_(uses_shared_memory),
        arrivals_(leader_) {
    connect(0, false);
  }
  ~Service() {
    disconnect("the leader of the run is gone");
    end_run();
  }

  const caf::actor& leader() const { return leader_; }
  std::string address() const { return wire_->address(); }
  // Peers that are alive but stopped would never take or send what is under way with them.
  void disconnect(const std::string& cause) {
    arrivals_.set_run(nullptr);
    if (run_) run_->abandon_network(cause);
    wire_.reset();
  }
  // Nothing of the last run is on its way any more.
  void reconnect(const Reconnect& reconnect) {
    disconnect("a node was lost");
    run_.reset();
    connect(reconnect.epoch, reconnect.is_alone);
  }
  NodeRun* run() { return run_ ? &*run_ : nullptr; }
  NodeTensors* tensors() { return tensors_ ? &*tensors_ : nullptr; }

  void begin_run(const BeginRun& begin) {
    arrivals_.set_run(nullptr);
    run_.reset();
    if (wire_ == nullptr) throw run_error("its network was closed when a node was lost");
    for (std::size_t n = 0; n < begin.addresses.size() && !is_connected_; ++n) {
      const bool is_there = n != begin.self.index() && !begin.addresses[n].empty();
      if (is_there) wire_->connect(NodeId::at(n), begin.addresses[n]);
    }
    is_connected_ = true;
    if (begin.first.index() == 0) tensors_.emplace(begin.machine, begin.self);
    if (!tensors_) throw usage_error("it has nothing of a run that is to go on");
    tensors_->prepare(begin, [this] { return !*is_leader_gone_; });
    run_.emplace(begin, *tensors_, ops_, *wire_, leader_);
    arrivals_.set_run(&*run_);
  }
  void end_run() {
    arrivals_.set_run(nullptr);
    run_.reset();
    tensors_.reset();
  }

 private:
  void connect(std::uint32_t epoch, bool is_alone) {
    if (is_alone) {
      wire_ = std::make_unique<NoPeers>();
    } else {
      wire_ = wires_.make(arrivals_, uses_shared_memory_);
    }
    arrivals_.use(*wire_, epoch);
    is_connected_ = false;
  }

  const OpRegistry& ops_;
  const caf::actor leader_;
  const std::shared_ptr<std::atomic<bool>> is_leader_gone_ =
      std::make_shared<std::atomic<bool>>(false);
  const OwnedActor watchman_;
  NodeWires& wires_;
  const bool uses_shared_memory_;
  Arrivals arrivals_;
  std::unique_ptr<Wire> wire_;
  bool is_connected_ = false;
  std::optional<NodeTensors> tensors_;
  std::optional<NodeRun> run_;
};

class Agent final : public caf::event_based_actor {
 public:
  Agent(caf::actor_config& config, const OpRegistry* ops, const NodeOptions* options,
        NodeWires* wires, std::function<void()> on_leader_gone)
      : caf::event_based_actor(config),
        ops_(*ops),
        options_(*options),
        wires_(*wires),
        on_leader_gone_(std::move(on_leader_gone)) {
    set_down_handler([this](const caf::down_msg& down) {
      if (!service_ || service_->leader().address() != down.source) return;
      service_.reset();
      on_leader_gone_();
    });
  }

  caf::behavior make_behavior() override {
    return {
        [this](const Hello& hello) { return answer([&] { return greet(hello); }); },
        [this](Reconnect reconnect) {
          return answer([&] {
            service().reconnect(reconnect);
            return caf::make_message(Reconnected{service().address()});
          });
        },
        [this](const BeginRun& begin) {
          return answer([&] {
            service().begin_run(begin);
            return caf::make_message(Prepared{});
          });
        },
        [this](EndRun) {
          if (service_) service_->end_run();
        },
        [this](const Disconnect& loss) {
          if (service_) service_->disconnect(loss.cause);
        },
        [](ClockRequest) { return ClockIs{steady_now()}; },
        [this](const DigestRequest& request) {
          return answer([&] { return caf::make_message(DigestIs{tensors().digest(request)}); });
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
        [this](std::uint32_t number, ResourceId resource, const Stop& stop) {
          with_run(number, resource, [&](NodeRun& run) { run.pass_on(resource, stop); });
        },
        [this](std::uint32_t number, ResourceId resource, const Collect& collect) {
          with_run(number, resource, [&](NodeRun& run) {
            if (run.has(resource)) return run.pass_on(resource, collect);
            tell(number, resource, LastRecords{});
          });
        },
    };
  }

  void on_exit() override { service_.reset(); }

 private:
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
    if (service_) {
      throw usage_error("it works for another leader", "wait until that is done");
    }
    if (hello.version != version) {
      throw usage_error(fmt::format("it is of version {}, and this is {}", version, hello.version),
                        "install the same version on all hosts");
    }
    check_kinds(hello.kinds);
    service_ =
        std::make_unique<Service>(system(), ops_, hello.leader, wires_, hello.uses_shared_memory);
    monitor(hello.leader);
    HostInfo host = discover_host();
    host.available_memory_bytes = static_cast<std::uint64_t>(
        static_cast<double>(host.available_memory_bytes) * options_.memory_share);
    return caf::make_message(Welcome{.name = options_.name,
                                     .host = host_id(),
                                     .machine = local_machine(host, options_.machine),
                                     .address = service_->address()});
  }

  void check_kinds(const std::vector<std::string>& kinds) const {
    const std::vector<std::string_view> own = ops_.names();
    if (std::equal(kinds.begin(), kinds.end(), own.begin(), own.end())) return;
    std::vector<std::string> differing;
    const auto add = [&](const auto& from, const auto& to, std::string_view who) {
      for (const auto& kind : from) {
        if (std::find(to.begin(), to.end(), kind) != to.end()) continue;
        differing.push_back(fmt::format("'{}' {}", kind, who));
      }
    };
    add(kinds, own, "it doesn't have");
    add(own, kinds, "only it has");
    throw usage_error(
        fmt::format("its op kinds are others: {}",
                    differing.empty() ? "the order of its libraries differs"
                                      : fmt::format("{}", fmt::join(differing, ", "))),
        "start node and leader with the same --ops, in the same order");
  }

  Service& service() {
    if (service_) return *service_;
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
      tell(number, resource, Failure{resource, {}, error.what()});
    }
  }

  const OpRegistry& ops_;
  const NodeOptions& options_;
  NodeWires& wires_;
  const std::function<void()> on_leader_gone_;
  std::unique_ptr<Service> service_;
};

// Devices get it in front of their own names: "left.cpu0".
void check_name(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  if (is_plain && name != "network") return;
  throw usage_error(fmt::format("'{}' can't be the name of a node", shortened(name)),
                    name == "network" ? "that is the name of what joins nodes: choose another"
                                      : "use letters, digits, '_' and '-' only");
}

}  // namespace

class NodeServer::Impl {
 public:
  Impl(const OpRegistry& ops, const NodeOptions& options)
      : options_(options), wires_(options_), control_(options.node_timeout) {
    if (!options.trusts_network && !options.tls && !is_loopback(options.host)) {
      throw usage_error(
          fmt::format("'{}' can be reached from other hosts, and what comes from there is neither "
                      "encrypted nor authenticated",
                      options.host),
          "give --tls-cert, --tls-key and --tls-ca (`troupe node --make-certs DIR` makes them); or "
          "listen on 127.0.0.1; or, where the network is closed or encrypted by other means, add "
          "--trust-network");
    }
    options_.host = interface_address(options.host);
    check_name(options.name);
    caf::actor_config config(ActorThreads::of(control_.system()).start_own_thread(Waiting::asleep));
    agent_ = control_.system().spawn_class<Agent, caf::no_spawn_options>(
        config, &ops, &options_, &wires_, std::function<void()>([this] {
          const std::lock_guard lock(mutex_);
          is_done_ = true;
          changed_.notify_all();
        }));
    try {
      acceptor_.emplace(
          AcceptorOptions{.address = options_.host, .port = options.port, .tls = options.tls},
          [this](Purpose purpose, Connection connection) {
            if (purpose == Purpose::control) return serve(agent_, std::move(connection));
            wires_.accept(std::move(connection));
          },
          [this](const std::string& peer, const std::string& cause) {
            if (options_.on_refused) options_.on_refused(peer, cause);
          });
    } catch (...) {
      caf::anon_send_exit(agent_, caf::exit_reason::kill);
      throw;
    }
    wires_.set_port(acceptor_->port());
  }
  ~Impl() {
    acceptor_.reset();
    caf::anon_send_exit(agent_, caf::exit_reason::kill);
  }

  std::uint16_t port() const { return acceptor_->port(); }
  bool uses_tls_for_tensors() const { return wires_.use_tls(); }
  bool wait(Duration time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return options_.once && is_done_; });
  }

 private:
  NodeOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;  // the first leader is
  NodeWires wires_;
  ControlSystem control_;
  caf::actor agent_;
  std::optional<Acceptor> acceptor_;
};

NodeServer::NodeServer(const OpRegistry& ops, const NodeOptions& options)
    : impl_(std::make_unique<Impl>(ops, options)) {}
NodeServer::~NodeServer() = default;

std::uint16_t NodeServer::port() const {
  return impl_->port();
}
bool NodeServer::uses_tls_for_tensors() const {
  return impl_->uses_tls_for_tensors();
}
bool NodeServer::wait(Duration time) {
  return impl_->wait(time);
}

}  // namespace troupe
