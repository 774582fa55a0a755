// What a Wire over sockets does, whichever thread does it.
#pragma once

#include "core/base/time.hpp"
#include "core/network/chunk_buffers.hpp"
#include "core/network/connection.hpp"
#include "core/network/frame_stream.hpp"
#include "core/network/host_port.hpp"
#include "core/network/socket_wire.hpp"
#include "core/network/wire.hpp"
#include "core/network/wire_rest.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

// Two nodes have one connection, so that what one sends acknowledges what the other has sent. The
// Wire whose address is less opens it; the other one waits for it, and keeps what it is to send
// meanwhile. See PolledWire for what the functions do.
//
// A large chunk is offered, and its bytes are sent once the receiver wants them: it says so when it
// takes the chunk, and the bytes go to their target from the socket.
class SocketWork {
 public:
  struct Options {
    SocketWireOptions wire;
    std::string transport;
    TensorEntry* entry = nullptr;
  };

  SocketWork(WireListener& listener, const Options& options);
  ~SocketWork();
  SocketWork(const SocketWork&) = delete;
  SocketWork& operator=(const SocketWork&) = delete;

  const std::string& address() const { return address_; }
  HostPort place_of(const std::string& address) const;
  void connect(NodeId node, const std::string& address, const HostPort& place);
  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done);
  bool take(ArrivedChunk chunk, std::byte* target, ChunkDone done);
  void drop(ArrivedChunk chunk);
  bool update();
  bool has_losses() const { return !losses_.empty(); }
  void report_losses();
  bool has_more() const { return has_failed_links_ || !pending_.empty() || !finished_.empty(); }
  bool has_large() const { return large_under_way_ > 0; }
  WireRest rest();
  void wake();

 private:
  using Clock = std::chrono::steady_clock;
  using LinkNumber = std::uint64_t;
  static constexpr LinkNumber none = 0;

  struct Offer {
    std::span<const std::byte> bytes;
    ChunkDone done;
  };
  // A chunk that has come, or that is offered.
  struct Arrival {
    LinkNumber link = none;
    ChunkBuffers::Buffer bytes = {};  // of one that has come
    std::size_t count = 0;
    std::uint32_t number = 0;  // of one that is offered
    bool is_offered = false;
    std::byte* target = nullptr;  // of one that is wanted
    std::size_t received = 0;
    ChunkDone done = {};
    std::list<Arrival>::iterator self = {};
  };
  // A connection to or from another node.
  struct Link {
    FrameStream stream;
    std::uint32_t watched_events = 0;
    std::string address = {};         // of the Wire at the other end; empty until it says hello
    Clock::time_point deadline = {};  // for one that isn't ready
    bool is_ready() const { return stream.is_open() && !address.empty(); }
    bool is_pending = false;
    // Of what is sent: by the numbers of the chunks.
    std::uint32_t next_number = 0;
    std::unordered_map<std::uint32_t, Offer> offers = {};
    // Of what comes.
    std::string hello = {};
    ChunkBuffers::Buffer chunk = {};  // that is coming
    std::unordered_map<std::uint32_t, Arrival*> wanted = {};
  };
  using Links = std::map<LinkNumber, Link>;
  struct Peer {
    std::string address;
    LinkNumber link = none;               // none: it is lost, or has yet to open one
    std::string cause = {};               // of the loss
    std::vector<ChunkDone> waiting = {};  // sends, until there is a link or a failure
    Clock::time_point deadline = {};      // for those
  };
  struct Loss {
    NodeId node;
    std::string cause;
  };
  struct Finished {
    ChunkDone done;
    std::string failure;
  };

  // Of a connection that another node has opened. Thread-safe.
  void accept(Connection connection);
  void open(NodeId node, Peer& peer, const HostPort& place);
  void use(LinkNumber number, Peer& peer);
  void lose(NodeId node, Peer& peer, const std::string& cause);
  void add_accepted();
  void drop_strangers();
  Links::iterator add(FrameStream stream);
  // To be called whenever something was done with its stream.
  void look_after(LinkNumber number, Link& link);
  // True if something has happened.
  bool look_at_latest();
  bool look_at_all();
  void go_on(LinkNumber number, Link& link);
  // True if frames have come.
  bool receive(LinkNumber number, Link& link);
  // False: the frame is against the protocol.
  bool on_frame(LinkNumber number, Link& link, const Frame& frame);
  bool on_hello(LinkNumber number, Link& link);
  std::byte* place_of_bytes(Link& link, const Frame& frame);
  bool on_answer(Link& link, const Frame& frame);
  void arrive(LinkNumber number, Link& link, const Frame& frame);
  void on_part(Link& link, const Frame& frame);
  void finish(ChunkDone done, const std::string& failure = {});
  void forget(Arrival& arrival) { arrivals_.erase(arrival.self); }
  void fail(LinkNumber number, const std::string& cause);
  void fail_late();
  int patience_ms() const;
  void remove_failed();
  void remove(Links::iterator entry);

  WireListener& listener_;
  const Options options_;
  const std::string address_;
  const int ready_;  // an epoll descriptor of all connections
  const int woken_;  // an eventfd
  std::mutex accepted_mutex_;
  std::vector<Connection> accepted_;
  std::atomic<bool> has_accepted_ = false;
  ChunkBuffers buffers_;  // before those who use them
  LinkNumber last_link_ = none;
  Links links_;
  std::vector<LinkNumber> pending_;  // links that may have frames though their sockets have none
  LinkNumber latest_ = none;         // the one that frames came from
  int until_look_ = 0;               // updates, at all of them
  bool has_failed_links_ = false;
  bool has_deadlines_ = false;  // of links that aren't ready, or of sends that wait for one
  std::unordered_map<NodeId, Peer> peers_;
  std::list<Arrival> arrivals_;
  std::size_t large_under_way_ = 0;
  std::vector<Finished> finished_;
  std::vector<Loss> losses_;
};

}  // namespace troupe
