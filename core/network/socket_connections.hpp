// The connections of a Wire over sockets, and which node is at the other end of each.
#pragma once

#include "core/base/id.hpp"
#include "core/network/connection.hpp"
#include "core/network/frame_stream.hpp"
#include "core/network/host_port.hpp"
#include "core/network/socket_link.hpp"
#include "core/network/socket_wire.hpp"
#include "core/network/wire.hpp"
#include "core/network/wire_rest.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/epoll.h>

namespace troupe {

// Two nodes have one connection, so that what one sends acknowledges what the other has sent. The
// Wire whose address is less opens it, and says hello; the other one waits for it. Once a large
// chunk is wanted, it opens a second one for the parts of large chunks, so that whatever else there
// is needn't wait for those that the kernel holds. If either fails, so does the other one, but for
// a second one that has yet to be welcome.
//
// A node is lost when its link fails, or when it has yet to open one and doesn't do so in time. All
// functions are for one thread at a time, but address(), place_of() and wake(), which are
// thread-safe. None blocks.
class SocketConnections {
  using Clock = std::chrono::steady_clock;

 public:
  struct Options {
    SocketWireOptions wire;
    std::string transport;
    TensorEntry* entry = nullptr;
  };
  struct Loss {
    NodeId node;
    std::string cause;
  };

  explicit SocketConnections(const Options& options);
  ~SocketConnections();
  SocketConnections(const SocketConnections&) = delete;
  SocketConnections& operator=(const SocketConnections&) = delete;

  const std::string& address() const { return address_; }
  // Of the port of a Wire. Throws a run Error if the address is malformed.
  HostPort place_of(const std::string& address) const;
  // `place` is that of `address`. The link to this node at another address fails.
  void connect(NodeId node, const std::string& address, const HostPort& place);

  // For sending, though it may have failed; null if there is none.
  SocketLink* link_to(NodeId node) {
    const auto peer = peers_.find(node);
    return peer != peers_.end() ? peer->second.link : nullptr;
  }
  // Where link_to() is null: calls `ready` when there is a link, or with the cause if there will be
  // none, perhaps at once. The node has as long to open one as it may take to connect. `ready` must
  // not call connect().
  void when_linked(NodeId node, ChunkDone ready);
  // To be called when a large chunk is wanted of the node at the other end, or by it.
  void prepare_for_parts(SocketLink& link);
  // The link for the parts of a chunk of this one: as long as there is no other, this one.
  SocketLink& for_parts(SocketLink& link) {
    SocketLink* const partner = find(link.partner);
    return partner != nullptr && partner->is_welcome ? *partner : link;
  }
  // The link whose chunks have their parts on this one, which may be the same; null if it is gone.
  SocketLink* of_chunks(SocketLink& link) { return link.is_for_parts ? find(link.partner) : &link; }
  // Null if the link has been removed.
  SocketLink* find(SocketLink::Number number) {
    const auto entry = links_.find(number);
    return entry != links_.end() ? &entry->second : nullptr;
  }

  // Adds links that other nodes have opened. True if there are some.
  bool add_accepted() {
    if (!has_accepted_.load(std::memory_order_relaxed)) return false;
    add_all_accepted();
    return true;
  }
  // Calls go_on(SocketLink&) for links whose sockets are ready, those for parts last. True if there
  // are some.
  template <class Function>
  bool each_ready(const Function& go_on) {
    std::array<epoll_event, 32> events;
    const int count = epoll_wait(ready_, events.data(), static_cast<int>(events.size()), 0);
    for (const bool is_for_parts : {false, true}) {
      for (int i = 0; i < count; ++i) {
        SocketLink* const link = find(events[static_cast<std::size_t>(i)].data.u64);
        if (link != nullptr && link->is_for_parts == is_for_parts) go_on(*link);
      }
    }
    return count > 0;
  }
  // To be called whenever something was done with the stream of a link.
  void look_after(SocketLink& link) {
    if (!link.stream.failure().empty()) {
      has_failed_ = true;
      return;
    }
    const std::uint32_t wanted = EPOLLIN | (link.stream.wants_write() ? EPOLLOUT : 0U);
    if (wanted != std::exchange(link.watched_events, wanted)) watch(link);
  }
  // Where the first bytes of a link are to go; null if there are too many, or it has said hello.
  std::byte* place_of_hello(SocketLink& link, std::uint64_t bytes);
  // They have come, with this frame. False if they mean another node, such as one that has been
  // here before, or come from one that has a link, or, for parts, from one that doesn't open links.
  bool on_hello(SocketLink& link, const Frame& frame);

  // Fails what was to be connected by now. Cheap if nothing is.
  void fail_late() {
    if (next_deadline_ != Clock::time_point::max() && next_deadline_ <= Clock::now()) {
      fail_all_late();
    }
  }
  bool has_failed() const { return has_failed_; }
  // Whether there is less time until fail_late() than the last rest() has said.
  bool has_new_deadline() const { return has_new_deadline_; }
  // All links that have failed. The nodes at their other ends are lost, but for links for parts
  // that weren't welcome yet.
  std::vector<SocketLink> remove_failed();
  bool has_losses() const { return !losses_.empty(); }
  // Nodes that were lost since the last call.
  std::vector<Loss> take_losses() { return std::exchange(losses_, {}); }

  // What to wait for: until a socket is ready, something has been accepted, it is time for
  // fail_late(), or somebody calls wake(). None if somebody has called it since the last rest().
  WireRest rest();
  void wake();

 private:
  using Links = std::map<SocketLink::Number, SocketLink>;
  struct Peer {
    std::string address;
    SocketLink* link = nullptr;           // null: it is lost, or has yet to open one
    std::string cause = {};               // of the loss
    std::vector<ChunkDone> waiting = {};  // for a link or the loss
    Clock::time_point deadline = {};      // for those
  };

  // Of a connection that another node has opened. Thread-safe.
  void accept(Connection connection);
  void add_all_accepted();
  void drop_strangers();
  SocketLink& add(FrameStream stream);
  void watch(const SocketLink& link) const;
  SocketLink& open(const std::string& address, const HostPort& place, const std::string& key);
  SocketLink* find_link(const std::string& address);
  bool on_hello_for_parts(SocketLink& link, const std::string& address, const std::string& key);
  void use(SocketLink& link, Peer& peer);
  void lose(NodeId node, Peer& peer, const std::string& cause);
  void fail(SocketLink& link, const std::string& cause);
  Clock::time_point new_deadline();
  void fail_partners();
  void fail_all_late();
  int patience_ms() const;

  const Options options_;
  const std::string address_;
  const int ready_;  // an epoll descriptor of all links
  const int woken_;  // an eventfd
  std::mutex accepted_mutex_;
  std::vector<Connection> accepted_;
  std::atomic<bool> has_accepted_ = false;
  SocketLink::Number last_number_ = SocketLink::none;
  Links links_;
  std::unordered_map<NodeId, Peer> peers_;
  bool has_failed_ = false;
  // Not after the first one of a link that isn't ready, or of a peer that something waits for.
  Clock::time_point next_deadline_ = Clock::time_point::max();
  bool has_new_deadline_ = false;  // since the last rest()
  std::vector<Loss> losses_;
};

}  // namespace troupe
