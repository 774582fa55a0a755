#include "tests/support/virtual_control.hpp"

#include "actors/nodes/node_protocol.hpp"
#include "actors/virtual_time.hpp"
#include "core/base/assert.hpp"

#include <cstdint>
#include <functional>
#include <utility>

namespace troupe::testing {
namespace {

// Knows the types of the protocol.
class Codec {
 public:
  Codec() {
    add_node_protocol(config_);
    config_.load<VirtualTime>();  // has no threads
    system_ = std::make_unique<caf::actor_system>(config_);
  }
  std::vector<char> encode(caf::message message) const {
    std::vector<char> bytes;
    caf::binary_serializer sink(*system_, bytes);
    const caf::error error = sink(message);
    TROUPE_ASSERT(!error);
    return bytes;
  }
  caf::message decode(const std::vector<char>& bytes) const {
    caf::message message;
    caf::binary_deserializer source(*system_, bytes);
    const caf::error error = source(message);
    TROUPE_ASSERT(!error);
    return message;
  }

 private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
};

const Codec& codec() {
  static const Codec the_codec;
  return the_codec;
}

// Stands for an actor at the other end of a connection.
class Proxy final : public caf::event_based_actor {
 public:
  struct Behavior {
    std::function<void(Proxy&, caf::message, caf::strong_actor_ptr sender)> forward;
    std::function<void()> on_down = [] {};  // of an actor that the proxy monitors
  };

  Proxy(caf::actor_config& config, Behavior behavior)
      : caf::event_based_actor(config), behavior_(std::move(behavior)) {
    set_default_handler([this](caf::scheduled_actor*, caf::message_view& view) {
      behavior_.forward(*this, view.move_content_to_message(), current_sender());
      return caf::result<caf::message>(caf::delegated<caf::message>{});
    });
    set_down_handler([this](const caf::down_msg&) { behavior_.on_down(); });
  }
  caf::behavior make_behavior() override {
    return {[](const caf::unit_t&) {}};
  }
  void on_exit() override { behavior_ = {}; }

 private:
  Behavior behavior_;
};

// May be said twice: by a node that doesn't know whether it was heard.
bool may_repeat(const caf::message& message) {
  return message.match_elements<NodeSuspected>() ||
         message.match_elements<std::uint32_t, ResourceId, Failure>();
}

}  // namespace

struct VirtualControl::State : std::enable_shared_from_this<State> {
  State(caf::actor_system& s, VirtualNetwork& n, Place place, caf::actor a)
      : system(s),
        network(n),
        agent(std::move(a)),
        to_node(n.open(n.leader(), place)),
        to_leader(n.open(place, n.leader())) {}

  caf::actor spawn(Proxy::Behavior behavior) {
    return proxies.emplace_back(system.spawn<Proxy>(std::move(behavior)));
  }

  void spawn_ends() {
    const auto self = shared_from_this();
    agent_proxy = spawn(
        {.forward =
             [self](Proxy& proxy, caf::message message, const caf::strong_actor_ptr& sender) {
               self->send_to_agent(proxy, std::move(message), sender);
             },
         .on_down = [self] {  // the leader has ended
           self->network.after(self->network.options().latency, [self] { self->lose_leader(); });
         }});
    leader_proxy =
        spawn({.forward = [self](Proxy&, caf::message message, const caf::strong_actor_ptr&) {
          self->send_to_leader(std::move(message));
        }});
  }

  using Deliver = std::function<void(caf::message)>;
  void send(const VirtualNetwork::ChannelPtr& channel, const caf::message& message,
            Deliver deliver) {
    const auto bytes = std::make_shared<std::vector<char>>(codec().encode(message));
    network.send(
        channel, bytes->size(), [] {},
        [bytes, deliver = std::move(deliver)] { deliver(codec().decode(*bytes)); });
  }

  // What somebody else than the leader sends is a request, whose answer goes to the sender.
  void send_to_agent(Proxy& proxy, caf::message message, const caf::strong_actor_ptr& sender) {
    const bool is_hello = message.match_elements<Hello>();
    if (is_hello) {
      leader = std::exchange(message.get_mutable_as<Hello>(0).leader, nullptr);
      proxy.monitor(leader);
    }
    send(to_node, message, [self = shared_from_this(), is_hello, sender](caf::message arrived) {
      if (is_hello) arrived.get_mutable_as<Hello>(0).leader = self->leader_proxy;
      const bool is_told = sender == caf::actor_cast<caf::strong_actor_ptr>(self->leader);
      const caf::actor asking = is_told  ? self->leader_proxy
                                : sender ? self->spawn_answering(sender)
                                         : nullptr;
      caf::actor_cast<caf::strong_actor_ptr>(self->agent)
          ->enqueue(caf::actor_cast<caf::strong_actor_ptr>(asking), caf::make_message_id(),
                    std::move(arrived), nullptr);
    });
  }
  caf::actor spawn_answering(const caf::strong_actor_ptr& asking) {
    return spawn({.forward = [self = shared_from_this(), asking](Proxy&, const caf::message& answer,
                                                                 const caf::strong_actor_ptr&) {
      self->send(self->to_leader, answer, [asking](caf::message arrived) {
        asking->enqueue(nullptr, caf::make_message_id(), std::move(arrived), nullptr);
      });
    }});
  }

  void send_to_leader(const caf::message& message) {
    const auto deliver = [self = shared_from_this()](caf::message arrived) {
      caf::actor_cast<caf::strong_actor_ptr>(self->leader)
          ->enqueue(nullptr, caf::make_message_id(), std::move(arrived), nullptr);
    };
    send(to_leader, message, deliver);
    if (!may_repeat(message) || network.random().below(2) == 0) return;
    network.after(network.random_duration(10 * network.options().latency),
                  [self = shared_from_this(), message, deliver] {
                    self->send(self->to_leader, message, deliver);
                  });
  }

  void lose_node() {
    has_lost_node = true;
    VirtualNetwork::close(*to_node);
    VirtualNetwork::close(*to_leader);
    caf::anon_send_exit(agent_proxy, caf::exit_reason::remote_link_unreachable);
  }
  void lose_leader() {
    VirtualNetwork::close(*to_leader);
    caf::anon_send_exit(leader_proxy, caf::exit_reason::remote_link_unreachable);
  }

  caf::actor_system& system;
  VirtualNetwork& network;
  const caf::actor agent;
  const VirtualNetwork::ChannelPtr to_node;
  const VirtualNetwork::ChannelPtr to_leader;
  caf::actor leader;
  caf::actor agent_proxy;
  caf::actor leader_proxy;
  std::vector<caf::actor> proxies;  // these two, and those of requests
  bool has_lost_node = false;
};

VirtualControl::VirtualControl(caf::actor_system& system, VirtualNetwork& network, Place node,
                               caf::actor agent)
    : state_(std::make_shared<State>(system, network, node, std::move(agent))) {
  state_->spawn_ends();
}
VirtualControl::~VirtualControl() {
  for (const caf::actor& proxy : state_->proxies) {
    caf::anon_send_exit(proxy, caf::exit_reason::kill);
  }
}

const caf::actor& VirtualControl::agent() const {
  return state_->agent_proxy;
}
void VirtualControl::lose_node() {
  state_->lose_node();
}
void VirtualControl::lose_leader() {
  state_->lose_leader();
}
bool VirtualControl::has_lost_node() const {
  return state_->has_lost_node;
}
std::vector<caf::actor> VirtualControl::proxies() const {
  return state_->proxies;
}

}  // namespace troupe::testing
