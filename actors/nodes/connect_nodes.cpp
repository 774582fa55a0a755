#include "actors/nodes/connect_nodes.hpp"

#include "actors/nodes/control_connection.hpp"
#include "actors/nodes/node_question.hpp"
#include "actors/nodes/rehearsed_nodes.hpp"
#include "actors/waiting.hpp"
#include "core/base/error.hpp"
#include "core/base/steady_now.hpp"
#include "core/machine/discover.hpp"
#include "core/network/host_port.hpp"
#include "core/network/introduction.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

class Connecting {
 public:
  Connecting(caf::actor_system& system, const caf::actor& leader, const OpRegistry& ops,
             const ClusterOptions& options)
      : system_(system), options_(options) {
    for (const std::string& address : options.addresses) {
      if (std::count(options.addresses.begin(), options.addresses.end(), address) > 1) {
        throw usage_error(fmt::format("the node {} is given twice", address), "name each once");
      }
      if (!options.rehearsed) places_.push_back(read_host_port(address));
      nodes_.push_back({.address = address});
    }
    hello_ = {.kinds = {},
              .needs_no_others = options.allows_other_kinds,
              .leader = leader,
              .uses_shared_memory = options.uses_shared_memory,
              .process = process_number(),
              .leader_name = process_name()};
    for (const std::string_view kind : ops.names()) {
      // Nobody computes a tensor that is given.
      const OpKind& known = ops[ops.find(kind)];
      if (!known.is_given) hello_.kinds.push_back({std::string(kind), signature_of(known)});
    }
  }

  void connect_all() {
    for_each("can't be reached", all(), [this](std::size_t n) { connect(n); });
  }

  // Of two leaders that ask for the same nodes, whatever their order, one gets them all: the first
  // to have the node whose address comes first.
  void greet_all() {
    std::vector<std::size_t> rest = all();
    const auto first = std::min_element(rest.begin(), rest.end(), [this](auto a, auto b) {
      return nodes_[a].address < nodes_[b].address;
    });
    const std::vector<std::size_t> decides{*first};
    rest.erase(first);
    const auto greet = [this](std::size_t n) { this->greet(nodes_[n]); };
    try {
      for_each("can't be used", decides, greet);
      for_each("can't be used", rest, greet);
    } catch (const Error&) {
      if (!options_.rehearsed) say_goodbye(system_, nodes_);
      throw;
    }
  }

  std::vector<ConnectedNode> take() { return std::move(nodes_); }

  // Of the one that takes the place of a lost one.
  ConnectedNode take_only() {
    hello_.begins_anew = true;
    connect(0);
    if (is_interrupted()) throw run_error("it was waited for no longer");
    if (!nodes_[0].agent) throw run_error("there is no node", start_node);
    greet(nodes_[0]);
    return std::move(nodes_[0]);
  }

 private:
  static constexpr const char* start_node = "start `troupe node --listen HOST:PORT` there";

  std::vector<std::size_t> all() const {
    std::vector<std::size_t> numbers(nodes_.size());
    for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = n;
    return numbers;
  }

  // Calls work(n) for each of these nodes, on several threads. Throws an Error that names the nodes
  // for which it has failed.
  template <class Work>
  void for_each(std::string_view failure, const std::vector<std::size_t>& numbers,
                const Work& work) {
    std::vector<std::optional<Error>> errors(nodes_.size());
    std::atomic<std::size_t> next = 0;
    const auto work_on = [&] {
      for (std::size_t i = next++; i < numbers.size(); i = next++) {
        try {
          work(numbers[i]);
        } catch (const Error& error) {
          errors[numbers[i]] = error;
        } catch (const std::exception& error) {
          errors[numbers[i]] = run_error(error.what());
        }
      }
    };
    {
      std::vector<std::jthread> others;
      try {
        while (others.size() + 1 < std::min(numbers.size(), threads_max())) {
          others.emplace_back(work_on);
        }
      } catch (const std::system_error&) {  // fewer threads take longer
      }
      work_on();
    }
    if (is_interrupted()) throw run_error("interrupted before all nodes had answered");
    check(failure, errors);
  }

  // Nodes with the same problem are named together.
  void check(std::string_view failure, const std::vector<std::optional<Error>>& errors) const {
    struct Group {
      std::string problem;
      std::string nodes;
    };
    std::vector<Group> groups;
    const Error* first = nullptr;
    std::size_t count = 0;
    for (std::size_t n = 0; n < errors.size(); ++n) {
      if (!errors[n]) continue;
      if (count++ == 0) first = &*errors[n];
      const std::string& problem = errors[n]->problem();
      const auto group = std::find_if(groups.begin(), groups.end(),
                                      [&](const Group& g) { return g.problem == problem; });
      if (group == groups.end()) {
        groups.push_back({problem, nodes_[n].address});
      } else {
        group->nodes += ", " + nodes_[n].address;
      }
    }
    if (count == 0) return;
    if (count == 1) {
      throw usage_error(fmt::format("node {}: {}", groups[0].nodes, first->problem()),
                        first->remedy());
    }
    std::string list;
    for (const Group& group : groups) {
      list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", group.nodes, group.problem);
    }
    throw usage_error(fmt::format("{} of {} nodes {}: {}", count, nodes_.size(), failure, list),
                      first->remedy());
  }

  // A node that is busy may miss CAF's first heartbeat.
  void connect(std::size_t n) {
    if (options_.rehearsed) {
      nodes_[n].agent = options_.rehearsed->connect(nodes_[n].address);
      return;
    }
    const Instant begun = steady_now();
    while (true) {
      const bool is_late = steady_now() - begun > options_.connect_timeout;
      try {
        Connection connection =
            open_connection(places_[n], Purpose::control, options_.tls ? &*options_.tls : nullptr,
                            options_.connect_timeout, options_.interrupted);
        nodes_[n].agent = remote_actor(system_, std::move(connection), options_.connect_timeout);
      } catch (const Error&) {
        if (!options_.awaits_nodes || is_late) throw;
      }
      if (nodes_[n].agent || is_interrupted()) return;
      if (is_late) {
        throw run_error("what listens there doesn't answer as a node of Troupe does", start_node);
      }
      rest_for(system_, std::chrono::milliseconds(50));
    }
  }

  void greet(ConnectedNode& node) {
    node.has = ask<Welcome>(node, hello_);
    const bool is_here = !host_id().empty() && node.has.host == host_id();
    if (is_here && node.has.clock == clock_namespace()) return;  // one clock
    constexpr int attempts = 10;
    Duration shortest = longest_duration;
    for (int i = 0; i < attempts; ++i) {
      const Instant asked = steady_now();
      const Instant now = ask<ClockIs>(node, ClockRequest{}).now;
      const Duration took = steady_now() - asked;
      if (took < shortest) node.clock_offset = asked + took / 2 - now;
      shortest = std::min(shortest, took);
    }
  }
  template <class Answer, class Request>
  Answer ask(const ConnectedNode& node, const Request& request) {
    return NodeQuestion(system_, node.agent, request, options_.interrupted)
        .template answer<Answer>(options_.connect_timeout);
  }

  // Virtual time passes on one thread.
  std::size_t threads_max() const { return options_.rehearsed ? 1 : 256; }
  bool is_interrupted() const { return options_.interrupted != nullptr && *options_.interrupted; }

  caf::actor_system& system_;
  const ClusterOptions& options_;
  Hello hello_;
  std::vector<HostPort> places_;      // by node
  std::vector<ConnectedNode> nodes_;  // each is worked on by one thread
};

}  // namespace

std::vector<ConnectedNode> connect_nodes(caf::actor_system& system, const caf::actor& leader,
                                         const OpRegistry& ops, const ClusterOptions& options) {
  Connecting connecting(system, leader, ops, options);
  connecting.connect_all();
  connecting.greet_all();
  return connecting.take();
}

void say_goodbye(caf::actor_system& system, std::span<const ConnectedNode> nodes) {
  std::vector<std::unique_ptr<NodeQuestion>> questions;
  for (const ConnectedNode& node : nodes) {
    questions.push_back(std::make_unique<NodeQuestion>(system, node.agent, Goodbye{}, nullptr));
  }
  constexpr Duration patience = std::chrono::seconds(1);
  const Instant end = steady_now() + patience;
  for (const std::unique_ptr<NodeQuestion>& question : questions) {
    const Duration left = end - steady_now();
    if (left <= Duration::zero()) return;
    try {
      question->answer<Prepared>(left);
    } catch (const Error&) {  // it is lost, or busy
    }
  }
}

ConnectedNode await_node(caf::actor_system& system, const caf::actor& leader, const OpRegistry& ops,
                         ClusterOptions options, NodeId lost, Instant until) {
  // In less time there is no attempt.
  constexpr Duration connect_timeout_min = std::chrono::milliseconds(100);
  const auto is_interrupted = [&] {
    return options.interrupted != nullptr && *options.interrupted;
  };
  const auto left = [&, longest = options.connect_timeout] {
    return std::clamp(until - present(system), Duration{0}, longest);
  };
  const std::string address = options.addresses[lost.index()];
  std::optional<Error> reason;  // of the last attempt that the end has not cut short
  while (true) {
    try {
      options.addresses = {options.start_again ? options.start_again(lost, left()) : address};
      options.connect_timeout = left();
      return Connecting(system, leader, ops, options).take_only();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::usage) throw;  // it refuses
      constexpr Duration granularity = std::chrono::milliseconds(5);
      const bool is_cut_short = until - present(system) < granularity;
      if (!is_cut_short || !reason) reason = error;
      if (until - present(system) < connect_timeout_min) {
        while (present(system) < until && !is_interrupted()) {
          rest_for(system, std::chrono::milliseconds(5));
        }
        throw Error(*reason);
      }
      if (is_interrupted()) throw;
    }
    rest_for(system, std::chrono::milliseconds(50));
  }
}

}  // namespace troupe
