#include "actors/nodes/node_server.hpp"

#include "actors/actor_threads.hpp"
#include "actors/nodes/control_connection.hpp"
#include "actors/nodes/control_system.hpp"
#include "actors/nodes/node_agent.hpp"
#include "actors/nodes/node_wires.hpp"
#include "core/backend/usable_gpus.hpp"
#include "core/base/error.hpp"
#include "core/base/text.hpp"
#include "core/network/acceptor.hpp"
#include "core/network/host_port.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

// Devices get it in front of their own names: "left.cpu0".
void check_name(const std::string& name) {
  const bool is_plain = is_identifier(name) && name.find('.') == std::string::npos;
  if (name.empty() || (is_plain && name != "network")) return;
  throw usage_error(fmt::format("'{}' can't be the name of a node", shortened(name)),
                    name == "network"
                        ? "that is the name of what joins nodes: choose another"
                        : "begin with a letter or _, then use letters, digits, '_' and '-' only");
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
    agent_ = spawn_agent(control_.system(), agent_options(ops),
                         ActorThreads::of(control_.system()).start_own_thread(Waiting::asleep));
    try {
      wires_.listen();  // first: a leader that comes to the node's port waits for begin()
      acceptor_.emplace(
          AcceptorOptions{.address = options_.host, .port = options.port, .tls = options.tls},
          [this](Purpose purpose, Connection connection) {
            if (purpose == Purpose::control) return serve(agent_, std::move(connection));
            wires_.accept(std::move(connection));
          },
          [this](const std::string& peer, const std::string& cause) {
            if (options_.on_refused) options_.on_refused(peer, cause);
          });
      wires_.begin(acceptor_->port());
    } catch (...) {
      caf::anon_send_exit(agent_, caf::exit_reason::kill);
      throw;
    }
  }
  ~Impl() {
    acceptor_.reset();
    caf::anon_send_exit(agent_, caf::exit_reason::kill);
  }

  std::uint16_t port() const { return acceptor_->port(); }
  bool uses_tls_for_tensors() const { return wires_.use_tls(); }
  bool has_had_leader() const { return has_had_leader_; }
  bool has_lost_leader() const { return has_lost_leader_; }
  bool wait(Duration time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return options_.once && is_done_; });
  }

  Machine own_machine() const {
    HostInfo host = discover_host();
    host.available_memory_bytes = share_of(host.available_memory_bytes);
    return local_machine(host, options_.machine);
  }

 private:
  std::uint64_t share_of(std::uint64_t bytes) const {
    return static_cast<std::uint64_t>(static_cast<double>(bytes) * options_.memory_share);
  }
  MachineIs own_machine_with_gpus() const {
    if (!options_.lends_gpus) return {own_machine(), "it lends no GPUs (--no-gpus)"};
    UsableGpus usable = usable_gpus();
    if (usable.gpus.empty()) return {own_machine(), no_usable_gpu({}, usable).problem()};
    for (UsableGpu& gpu : usable.gpus) {
      gpu.available_memory_bytes = share_of(gpu.available_memory_bytes);
    }
    Machine machine = own_machine();
    add_gpus(machine, usable.gpus);
    return {std::move(machine), fmt::format("{}", fmt::join(usable.left_out, "; "))};
  }
  AgentOptions agent_options(const OpRegistry& ops) {
    return {.ops = ops,
            .name = options_.name,
            .machine = [this] { return own_machine(); },
            .machine_with_gpus = [this] { return own_machine_with_gpus(); },
            .lends_gpus = options_.lends_gpus,
            .make_wire =
                [this](WireListener& listener, bool uses_shared_memory) {
                  return wires_.make(listener, uses_shared_memory);
                },
            .on_leader = [this] { has_had_leader_ = true; },
            .on_leader_lost =
                [this](const std::string& name) {
                  has_lost_leader_ = true;
                  if (options_.on_leader_lost) options_.on_leader_lost(name);
                },
            .on_leader_gone =
                [this] {
                  const std::lock_guard lock(mutex_);
                  is_done_ = true;
                  changed_.notify_all();
                }};
  }

  NodeOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;  // the first leader is
  std::atomic<bool> has_had_leader_ = false;
  std::atomic<bool> has_lost_leader_ = false;
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
bool NodeServer::has_had_leader() const {
  return impl_->has_had_leader();
}
bool NodeServer::has_lost_leader() const {
  return impl_->has_lost_leader();
}
Machine NodeServer::machine() const {
  return impl_->own_machine();
}
bool NodeServer::wait(Duration time) {
  return impl_->wait(time);
}

}  // namespace troupe
