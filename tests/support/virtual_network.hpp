// What joins the nodes of a process under virtual time: connections whose messages take the time of
// a network, and nodes that die or stop.
#pragma once

#include "actors/clock.hpp"
#include "core/base/random.hpp"
#include "core/base/time.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace troupe::testing {

// A process of a node, by number. The leader comes behind those that were there first, and before
// those that were added.
using Place = std::size_t;

class VirtualNetwork final : public TimerListener {
 public:
  using Action = std::function<void()>;

  struct Options {
    std::size_t nodes = 0;
    double bandwidth = 1e9;  // bytes per second, of a connection
    Duration latency{20'000};
    // One message in eight is late, by up to so much.
    Duration delay_max{0};
  };

  // One direction of a connection: what is sent arrives in the order in which it was sent, as with
  // TCP; messages of different channels may overtake each other.
  class Channel;
  using ChannelPtr = std::shared_ptr<Channel>;

  // The clock must outlive the network.
  VirtualNetwork(Clock& clock, std::uint64_t seed, const Options& options);

  Place leader() const { return options_.nodes; }
  Place add_node();
  const Options& options() const { return options_; }
  Random& random() { return random_; }
  // Uniform over 0 to `max`.
  Duration random_duration(Duration max);
  void after(Duration delay, Action action);

  ChannelPtr open(Place from, Place to);
  // What has not arrived never does.
  static void close(Channel& channel);
  // `on_sent`: the bytes have left, and may change. Neither is called if the channel is closed, or
  // a node dies, before that.
  void send(const ChannelPtr& channel, std::size_t bytes, Action on_sent, Action on_arrival);

  // From now on everything to or from this node takes so many times as long.
  void slow_down(Place node, double factor) { nodes_[node].slowness = factor; }
  // The node sends nothing any more, and gets nothing. Of what it has sent, some still arrives.
  void kill(Place node);
  // The node sends nothing and takes nothing for so long. Then it goes on: what has come meanwhile
  // arrives, and what it had to send leaves.
  void suspend(Place node, Duration time);

  // TimerListener
  void on_timer(std::uint32_t slot) override;
  void before_finish(std::uint32_t, std::uint32_t) override {}
  void before_notice(std::uint32_t, std::uint32_t) override {}
  caf::strong_actor_ptr handle() override { return nullptr; }

 private:
  struct Node {
    bool is_suspended = false;
    bool is_dead = false;
    Instant last_arrival{};  // of what it has sent, if it is dead
    double slowness = 1;
  };
  void arrive(const ChannelPtr& channel, Action action);
  void resume(Place node);

  Clock& clock_;
  Random random_;
  const Options options_;
  std::vector<Node> nodes_;  // by Place
  std::vector<std::weak_ptr<Channel>> channels_;
  std::vector<Action> actions_;  // by slot
  std::vector<std::uint32_t> free_slots_;
};

class VirtualNetwork::Channel {
 private:
  friend class VirtualNetwork;
  struct Message {
    std::size_t bytes;
    Action on_sent;
    Action on_arrival;
  };
  Place from_ = 0;
  Place to_ = 0;
  bool is_closed_ = false;
  Instant idle_since_{};          // when the last message has left
  Instant last_arrival_{};        // when it arrives
  std::deque<Message> unsent_;    // by a node that is suspended
  std::deque<Action> not_taken_;  // likewise
};

}  // namespace troupe::testing
