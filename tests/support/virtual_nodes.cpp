#include "tests/support/virtual_nodes.hpp"

#include "actors/nodes/node_agent.hpp"
#include "actors/waiting.hpp"

#include <cstddef>
#include <utility>

namespace troupe::testing {

VirtualNodes::VirtualNodes(std::uint64_t seed, const std::vector<Machine>& machines,
                           const OpRegistry& ops, const VirtualNetwork::Options& network,
                           Duration node_timeout)
    : setup_(std::make_shared<ActorSystemSetup>(true, seed)),
      network_(setup_->clock(), seed, network),
      node_timeout_(node_timeout) {
  for (Place n = 0; n < machines.size(); ++n) {
    const auto make_wire = [this, n](WireListener& listener, bool) {
      return wires_.make(n, listener);
    };
    agents_.push_back(spawn_agent(setup_->system(),
                                  {.ops = ops,
                                   .machine = [machine = machines[n]] { return machine; },
                                   .make_wire = make_wire,
                                   .rehearsal = setup_},
                                  nullptr));
    connections_.emplace_back(setup_->system(), network_, n, agents_.back());
  }
}

VirtualNodes::~VirtualNodes() {
  std::vector<caf::actor> ending = std::exchange(agents_, {});
  for (const caf::actor& agent : ending) caf::anon_send_exit(agent, caf::exit_reason::kill);
  for (const VirtualControl& connection : connections_) {
    const std::vector<caf::actor> proxies = connection.proxies();
    ending.insert(ending.end(), proxies.begin(), proxies.end());
  }
  connections_.clear();
  wait_for_end(setup_->system(), ending);
}

ClusterOptions VirtualNodes::options() const {
  ClusterOptions options;
  for (Place n = 0; n < connections_.size(); ++n) options.addresses.push_back(std::to_string(n));
  options.rehearsed = {.setup = setup_, .connect = [this](const std::string& address) {
                         return connections_[std::stoul(address)].agent();
                       }};
  return options;
}

void VirtualNodes::kill(Place node, Duration from_now, bool is_noticed) {
  network_.after(from_now, [this, node, is_noticed] {
    network_.kill(node);
    connections_[node].lose_leader();  // its process is gone
    const Duration soon = network_.random_duration(10 * network_.options().latency);
    network_.after(is_noticed ? soon : node_timeout_,
                   [this, node] { connections_[node].lose_node(); });
    if (!is_noticed) return;
    for (Place other = 0; other < agents_.size(); ++other) wires_.disconnect(node, other);
  });
}

void VirtualNodes::suspend(Place node, Duration from_now, Duration time) {
  network_.after(from_now, [this, node, time] {
    network_.suspend(node, time);
    if (time <= node_timeout_) return;
    network_.after(node_timeout_, [this, node] { connections_[node].lose_node(); });
    network_.after(time, [this, node] { connections_[node].lose_leader(); });
  });
}

void VirtualNodes::disconnect(Place a, Place b, Duration from_now) {
  network_.after(from_now, [this, a, b] { wires_.disconnect(a, b); });
}

}  // namespace troupe::testing
