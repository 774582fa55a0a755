#include "tests/support/virtual_wire.hpp"

#include <cstddef>
#include <cstring>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe::testing {

// A tensor's buffer is read when its bytes leave, and written when they are taken: a buffer that is
// reused too early gives wrong results.
class VirtualWire final : public Wire {
 public:
  VirtualWire(VirtualWires& all, Place node, WireListener& listener)
      : all_(all),
        network_(all.network_),
        node_(node),
        serial_(++all.made_),
        listener_(listener),
        is_rendezvous_(network_.random().below(2) == 0) {
    all_.wires_.emplace(serial_, this);
  }
  ~VirtualWire() override {
    all_.wires_.erase(serial_);
    for (const auto& [serial, wire] : all_.wires_) {
      if (!wire->is_connected_to(serial_)) continue;
      network_.send(
          network_.open(node_, wire->node_), 0, [] {}, breaking(serial, serial_));
    }
    for (const auto& [id, peer] : peers_) VirtualNetwork::close(*peer.channel);
  }

  std::string address() const override { return std::to_string(serial_); }

  void connect(NodeId id, const std::string& address) override {
    const std::uint64_t serial = std::stoull(address);
    const auto other = all_.wires_.find(serial);
    const bool is_there = other != all_.wires_.end();
    peers_[id] = {.serial = serial,
                  .channel = network_.open(node_, is_there ? other->second->node_ : node_)};
    if (!is_there) all_.break_soon(serial_, serial);
  }

  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) override {
    const std::uint64_t number = ++sent_;
    const Peer& peer = peers_.at(to);
    sending_.emplace(number, Sending{to, bytes, std::move(done)});
    if (peer.is_lost) {
      return network_.after(Duration{0}, on(serial_, [number](VirtualWire& self) {
                              self.end_send(number, "the connection is broken");
                            }));
    }
    const auto chunk = std::make_shared<Chunk>(Chunk{.header = header});
    const auto leave =
        on(serial_, [number, chunk](VirtualWire& self) { self.leave(number, *chunk); });
    const auto arrive = on(peer.serial, [chunk](VirtualWire& receiver) { receiver.arrive(chunk); });
    const std::size_t size = sizeof(header) + header.bytes;
    // In a rendezvous, the receiver asks for the bytes.
    if (is_rendezvous_) {
      network_.send(
          peer.channel, size, [] {},
          [leave, arrive] {
            leave();
            arrive();
          });
    } else {
      network_.send(peer.channel, size, leave, arrive);
    }
  }

  bool take(ArrivedChunk arrived, std::byte* target, ChunkDone done) override {
    network_.after(network_.random_duration(network_.options().latency / 4),
                   on(serial_, [arrived, target, done = std::move(done)](VirtualWire& self) {
                     const std::vector<std::byte>& bytes = self.arrived_.at(arrived)->bytes;
                     std::memcpy(target, bytes.data(), bytes.size());
                     self.drop(arrived);
                     done({});
                   }));
    return false;
  }
  void drop(ArrivedChunk arrived) override { arrived_.erase(arrived); }
  // Virtual time has no threads.
  bool post(std::function<void()>, bool) override { return false; }
  bool progress() override { return false; }
  void leave() override {}

 private:
  friend class VirtualWires;
  struct Peer {
    std::uint64_t serial = 0;
    VirtualNetwork::ChannelPtr channel = {};
    bool is_lost = false;
  };
  struct Chunk {
    ChunkHeader header = {};
    std::vector<std::byte> bytes = {};
    bool has_left = false;
  };
  struct Sending {
    NodeId to;
    const std::byte* bytes;
    ChunkDone done;
  };

  // Does nothing when the wire is gone.
  VirtualNetwork::Action on(std::uint64_t wire, std::function<void(VirtualWire&)> action) const {
    return [all = &all_, wire, action = std::move(action)] {
      const auto found = all->wires_.find(wire);
      if (found != all->wires_.end()) action(*found->second);
    };
  }
  // The connection to `peer` has broken.
  VirtualNetwork::Action breaking(std::uint64_t wire, std::uint64_t peer) const {
    return on(wire, [peer](VirtualWire& self) { self.lose(peer); });
  }

  bool is_connected_to(std::uint64_t serial) const {
    for (const auto& [id, peer] : peers_) {
      if (peer.serial == serial) return true;
    }
    return false;
  }

  void leave(std::uint64_t number, Chunk& chunk) {
    const auto sending = sending_.find(number);
    if (sending == sending_.end()) return;  // it has failed
    const std::byte* const bytes = sending->second.bytes;
    chunk.bytes.assign(bytes, bytes + chunk.header.bytes);
    chunk.has_left = true;
    end_send(number, {});
  }
  void end_send(std::uint64_t number, const std::string& failure) {
    const auto sending = sending_.find(number);
    const ChunkDone done = std::move(sending->second.done);
    sending_.erase(sending);
    done(failure);
  }

  void arrive(const std::shared_ptr<Chunk>& chunk) {
    const auto from = peers_.find(NodeId{chunk->header.from});
    if (!chunk->has_left || from == peers_.end() || from->second.is_lost) return;
    arrived_.emplace(chunk.get(), chunk);
    listener_.arrived(chunk->header, chunk.get());
  }

  void lose(std::uint64_t serial) {
    for (auto& [id, peer] : peers_) {
      if (peer.serial != serial || std::exchange(peer.is_lost, true)) continue;
      VirtualNetwork::close(*peer.channel);
      std::vector<std::uint64_t> failed;
      for (const auto& [number, sending] : sending_) {
        if (sending.to == id) failed.push_back(number);
      }
      for (const std::uint64_t number : failed) end_send(number, "the connection broke");
      return listener_.lost(id, "the connection broke");
    }
  }

  VirtualWires& all_;
  VirtualNetwork& network_;
  const Place node_;
  const std::uint64_t serial_;
  WireListener& listener_;
  const bool is_rendezvous_;
  std::map<NodeId, Peer> peers_;
  std::map<std::uint64_t, Sending> sending_;
  std::unordered_map<ArrivedChunk, std::shared_ptr<Chunk>> arrived_;
  std::uint64_t sent_ = 0;
};

std::unique_ptr<Wire> VirtualWires::make(Place node, WireListener& listener) {
  return std::make_unique<VirtualWire>(*this, node, listener);
}

void VirtualWires::break_soon(std::uint64_t wire, std::uint64_t peer) {
  network_.after(network_.random_duration(2 * network_.options().latency),
                 wires_.at(wire)->breaking(wire, peer));
}

void VirtualWires::disconnect(Place a, Place b) {
  for (const auto& [serial, wire] : wires_) {
    for (const auto& [other_serial, other] : wires_) {
      const bool joins =
          (wire->node_ == a && other->node_ == b) || (wire->node_ == b && other->node_ == a);
      if (joins && wire->is_connected_to(other_serial)) break_soon(serial, other_serial);
    }
  }
}

}  // namespace troupe::testing
