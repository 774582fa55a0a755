#include "tests/support/virtual_network.hpp"

#include <algorithm>
#include <utility>

namespace troupe::testing {

VirtualNetwork::VirtualNetwork(Clock& clock, std::uint64_t seed, const Options& options)
    : clock_(clock), random_(seed), options_(options), nodes_(options.nodes + 1) {}

Place VirtualNetwork::add_node() {
  nodes_.emplace_back();
  return nodes_.size() - 1;
}

Duration VirtualNetwork::random_duration(Duration max) {
  return Duration{
      static_cast<Duration::rep>(random_.unit() * static_cast<double>(max.count() + 1))};
}

void VirtualNetwork::after(Duration delay, Action action) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(actions_.size()));
    actions_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  actions_[slot] = std::move(action);
  clock_.start_timer(delay, *this, slot);
}

void VirtualNetwork::on_timer(std::uint32_t slot) {
  free_slots_.push_back(slot);
  std::exchange(actions_[slot], {})();
}

VirtualNetwork::ChannelPtr VirtualNetwork::open(Place from, Place to) {
  const auto channel = std::make_shared<Channel>();
  channel->from_ = from;
  channel->to_ = to;
  channels_.push_back(channel);
  return channel;
}

void VirtualNetwork::close(Channel& channel) {
  channel.is_closed_ = true;
  channel.unsent_.clear();
  channel.not_taken_.clear();
}

void VirtualNetwork::send(const ChannelPtr& channel, std::size_t bytes, Action on_sent,
                          Action on_arrival) {
  Channel& c = *channel;
  const Node& from = nodes_[c.from_];
  if (c.is_closed_ || from.is_dead) return;
  if (from.is_suspended) {
    c.unsent_.push_back({bytes, std::move(on_sent), std::move(on_arrival)});
    return;
  }
  const double slowness = std::max(from.slowness, nodes_[c.to_].slowness);
  const auto times = [&](double ns) { return Duration{static_cast<Duration::rep>(slowness * ns)}; };
  const Instant now = clock_.instant();
  c.idle_since_ =
      std::max(now, c.idle_since_) + times(1e9 * static_cast<double>(bytes) / options_.bandwidth);
  Instant arrival = c.idle_since_ + times(static_cast<double>(options_.latency.count()));
  if (random_.below(8) == 0) arrival += random_duration(options_.delay_max);
  c.last_arrival_ = std::max(arrival, c.last_arrival_ + Duration{1});
  after(c.idle_since_ - now, [this, channel, on_sent = std::move(on_sent)] {
    if (!channel->is_closed_ && !nodes_[channel->from_].is_dead) on_sent();
  });
  after(c.last_arrival_ - now, [this, channel, on_arrival = std::move(on_arrival)]() mutable {
    arrive(channel, std::move(on_arrival));
  });
}

void VirtualNetwork::arrive(const ChannelPtr& channel, Action action) {
  const Node& from = nodes_[channel->from_];
  const Node& to = nodes_[channel->to_];
  if (channel->is_closed_ || to.is_dead) return;
  if (from.is_dead && clock_.instant() > from.last_arrival) return;
  if (to.is_suspended || !channel->not_taken_.empty()) {
    channel->not_taken_.push_back(std::move(action));
    return;
  }
  action();
}

void VirtualNetwork::kill(Place node) {
  nodes_[node].is_dead = true;
  nodes_[node].last_arrival = clock_.instant() + random_duration(2 * options_.latency);
}

void VirtualNetwork::suspend(Place node, Duration time) {
  nodes_[node].is_suspended = true;
  after(time, [this, node] { resume(node); });
}

void VirtualNetwork::resume(Place node) {
  nodes_[node].is_suspended = false;
  std::erase_if(channels_, [](const auto& channel) { return channel.expired(); });
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const ChannelPtr channel = channels_[i].lock();
    if (channel->from_ == node) {
      for (Channel::Message& m : std::exchange(channel->unsent_, {})) {
        send(channel, m.bytes, std::move(m.on_sent), std::move(m.on_arrival));
      }
    }
    if (channel->to_ != node) continue;
    while (!channel->not_taken_.empty()) {
      const Action next = std::move(channel->not_taken_.front());
      channel->not_taken_.pop_front();
      next();
    }
  }
}

}  // namespace troupe::testing
