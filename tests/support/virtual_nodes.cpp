#include "tests/support/virtual_nodes.hpp"

#include "actors/nodes/node_agent.hpp"
#include "actors/nodes/rehearsed_nodes.hpp"
#include "actors/waiting.hpp"

#include <cstddef>
#include <utility>

namespace troupe::testing {

VirtualNodes::VirtualNodes(std::uint64_t seed, const std::vector<Machine>& machines,
                           const OpRegistry& ops, const VirtualNetwork::Options& network,
                           Duration node_timeout)
    : setup_(std::make_shared<ActorSystemSetup>(true, seed)),
      network_(setup_->clock(), seed, network),
      machines_(machines),
      ops_(ops),
      node_timeout_(node_timeout),
      at_(machines.size()) {
  for (std::size_t n = 0; n < machines.size(); ++n) start(n, n);
}

VirtualNodes::~VirtualNodes() {
  std::vector<caf::actor> ending;
  for (const Process& process : processes_) {
    caf::anon_send_exit(process.agent, caf::exit_reason::kill);
    ending.push_back(process.agent);
    const std::vector<caf::actor> proxies = process.connection.proxies();
    ending.insert(ending.end(), proxies.begin(), proxies.end());
  }
  processes_.clear();
  wait_for_end(setup_->system(), ending);
}

ClusterOptions VirtualNodes::options() const {
  ClusterOptions options;
  for (std::size_t n = 0; n < at_.size(); ++n) options.addresses.push_back(std::to_string(n));
  const auto connect = [this](const std::string& address) {
    const VirtualControl& last = at_[std::stoul(address)]->connection;
    return last.has_lost_node() ? nullptr : last.agent();
  };
  options.rehearsed = std::make_shared<const RehearsedNodes>(RehearsedNodes{setup_, connect});
  return options;
}

void VirtualNodes::start(std::size_t node, Place place) {
  const auto make_wire = [this, place](WireListener& listener, bool) {
    return wires_.make(place, listener);
  };
  const caf::actor agent = spawn_agent(setup_->system(),
                                       {.ops = ops_,
                                        .machine = [machine = machines_[node]] { return machine; },
                                        .make_wire = make_wire,
                                        .rehearsal = setup_},
                                       nullptr);
  at_[node] = &processes_.emplace_back(*this, place, agent);
}

void VirtualNodes::lose(std::size_t node, Process& process) {
  if (process.connection.has_lost_node()) return;
  process.connection.lose_node();
  if (!restart_within_) return;
  network_.after(network_.random_duration(*restart_within_),
                 [this, node] { start(node, network_.add_node()); });
}

void VirtualNodes::kill(std::size_t node, Duration from_now, bool is_noticed) {
  network_.after(from_now, [this, node, is_noticed] {
    Process& process = *at_[node];
    network_.kill(process.place);
    process.connection.lose_leader();  // its process is gone
    const Duration soon = network_.random_duration(10 * network_.options().latency);
    network_.after(is_noticed ? soon : node_timeout_,
                   [this, node, &process] { lose(node, process); });
    if (!is_noticed) return;
    for (const Process& other : processes_) wires_.disconnect(process.place, other.place);
  });
}

void VirtualNodes::suspend(std::size_t node, Duration from_now, Duration time) {
  network_.after(from_now, [this, node, time] {
    Process& process = *at_[node];
    network_.suspend(process.place, time);
    if (time <= node_timeout_) return;
    network_.after(node_timeout_, [this, node, &process] { lose(node, process); });
    network_.after(time, [&process] { process.connection.lose_leader(); });
  });
}

void VirtualNodes::disconnect(std::size_t a, std::size_t b, Duration from_now) {
  network_.after(from_now, [this, a, b] { wires_.disconnect(at_[a]->place, at_[b]->place); });
}

}  // namespace troupe::testing
