#include "core/network/tls_wire.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/network/call_queue.hpp"
#include "core/network/frame_stream.hpp"
#include "core/network/host_port.hpp"
#include "core/network/wire_address.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <span>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view transport = "tls";
constexpr std::uint64_t hello_bytes_max = 1024;
// Links cut tensors into chunks that are much smaller, unless a machine file says otherwise.
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{1} << 36;
// Of one connection, before others are served.
constexpr int frames_at_once = 16;

// A socket that is being connected.
int begin_connecting(const HostPort& to) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(to.port);
  inet_pton(AF_INET, to.host.c_str(), &address.sin_addr);
  if (fd < 0 || (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
                 errno != EINPROGRESS)) {
    const int error = errno;
    if (fd >= 0) close(fd);
    throw run_error(system_message(error));
  }
  return fd;
}

}  // namespace

// All functions but call() and address() are for the thread.
class TlsWire::Work {
 public:
  Work(WireListener& listener, const TlsWireOptions& options)
      : listener_(listener),
        options_(options),
        address_(new_address_text({.transport = std::string(transport), .place = options.place})),
        woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (woken_ < 0) throw run_error("no more descriptors: " + system_message(errno));
    thread_ = std::thread([this] { run(); });
  }
  ~Work() {
    TROUPE_ASSERT(std::this_thread::get_id() != thread_.get_id());
    call([this] { is_ending_ = true; });
    thread_.join();
    close(woken_);
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  const std::string& address() const { return address_; }

  // Runs `function` on the thread: now, if this is it.
  template <class Function>
  void call(Function function) {
    if (std::this_thread::get_id() == thread_.get_id()) {
      function();
    } else {
      push(std::move(function));
    }
  }
  void push(CallQueue::Call function) {
    calls_.push(std::move(function), [this] { eventfd_write(woken_, 1); });
  }

  void connect(NodeId node, const std::string& address, const HostPort& place) {
    Peer& peer = peers_[node];
    if (peer.link != none && peer.address == address) return;
    const std::string old = std::exchange(peer.address, address);
    peer.link = none;
    for (auto& [number, link] : links_) {
      if (!old.empty() && link.address == old) link.stream.fail("the connection was closed");
    }
    try {
      Connection connection(begin_connecting(place), Connection::Side::client, &options_.tls);
      peer.link = add(FrameStream(Introduction(std::move(connection), Purpose::tensors, true)));
    } catch (const Error& error) {
      peer.cause = error.problem();
      losses_.push_back(node);
      return;
    }
    Link& link = links_.at(peer.link);
    link.is_outgoing = true;
    link.address = address;
    link.deadline = Clock::now() + options_.connect_timeout;
    const std::string text = address + "\n" + address_;
    link.stream.send({.kind = Frame::Kind::hello, .header = {.bytes = text.size()}},
                     reinterpret_cast<const std::byte*>(text.data()));
  }

  void accept(Connection connection) { add(FrameStream(std::move(connection))); }

  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) {
    const auto peer = peers_.find(to);
    if (peer == peers_.end() || peer->second.link == none) {
      finished_.push_back({std::move(done), peer == peers_.end() || peer->second.cause.empty()
                                                ? "the node isn't connected"
                                                : peer->second.cause});
      return;
    }
    Link& link = links_.at(peer->second.link);
    const std::uint32_t number = link.next_number++;
    link.under_way.emplace(number, std::move(done));
    link.stream.send({.kind = Frame::Kind::chunk, .number = number, .header = header}, bytes);
  }

  void take(ArrivedChunk chunk, std::byte* target, ChunkDone done) {
    const auto& arrival = *static_cast<Arrival*>(chunk);
    if (arrival.count > 0) std::memcpy(target, arrival.bytes.get(), arrival.count);
    drop(chunk);
    finished_.push_back({std::move(done), {}});
  }

  void drop(ArrivedChunk chunk) {
    const auto& arrival = *static_cast<Arrival*>(chunk);
    const auto link = links_.find(arrival.link);
    if (link != links_.end()) {
      link->second.stream.send({.kind = Frame::Kind::acknowledge, .number = arrival.number},
                               nullptr);
    }
    arrivals_.erase(arrival.self);
  }

 private:
  using LinkNumber = std::uint64_t;
  static constexpr LinkNumber none = 0;

  // A connection to or from another node.
  struct Link {
    FrameStream stream;
    bool is_outgoing = false;
    std::string address = {};                                     // of the Wire at the other end
    Clock::time_point deadline = {};                              // for one that is being opened
    std::uint32_t next_number = 0;                                // of a chunk
    std::unordered_map<std::uint32_t, ChunkDone> under_way = {};  // chunks that were sent
  };
  struct Peer {
    std::string address;
    LinkNumber link = none;  // for sending; none: lost
    std::string cause;       // of the loss
  };
  struct Arrival {
    LinkNumber link = none;
    std::uint32_t number = 0;
    std::unique_ptr<std::byte[]> bytes;
    std::size_t count = 0;
    std::list<Arrival>::iterator self;
  };
  struct Finished {
    ChunkDone done;
    std::string failure;
  };

  LinkNumber add(FrameStream stream) {
    links_.emplace(++last_link_, Link{.stream = std::move(stream)});
    return last_link_;
  }

  void run() {
    std::vector<pollfd> watched;
    while (true) {
      for (const CallQueue::Call& call : calls_.take()) call();
      if (is_ending_) return;
      remove_failed();
      report();
      watch(watched);
      const bool has_more =
          !finished_.empty() || std::ranges::any_of(links_, [](const auto& entry) {
            return entry.second.stream.has_pending() || !entry.second.stream.failure().empty();
          });
      if (!has_more && !calls_.may_sleep()) continue;
      poll(watched.data(), watched.size(), has_more ? 0 : patience_ms());
      calls_.awake();
      if (watched[0].revents != 0) {
        eventfd_t ignored = 0;
        eventfd_read(woken_, &ignored);
      }
      go_on(watched);
    }
  }

  void watch(std::vector<pollfd>& watched) const {
    watched.assign({{.fd = woken_, .events = POLLIN, .revents = 0}});
    for (const auto& [number, link] : links_) {
      watched.push_back({.fd = link.stream.socket(), .events = link.stream.events(), .revents = 0});
    }
  }

  // Until the first connection must be open; -1: for ever.
  int patience_ms() const {
    auto first = Clock::time_point::max();
    for (const auto& [number, link] : links_) {
      if (!link.stream.is_open()) first = std::min(first, link.deadline);
    }
    if (first == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
    return static_cast<int>(std::max<std::int64_t>(left, 0));
  }

  // `watched` has the links from its second element on. What is called may add links, at the end.
  void go_on(const std::vector<pollfd>& watched) {
    auto entry = links_.begin();
    for (auto ready = watched.begin() + 1; ready != watched.end(); ++ready, ++entry) {
      auto& [number, link] = *entry;
      if (ready->revents != 0) link.stream.go_on();
      if (ready->revents != 0 || link.stream.has_pending()) receive(number, link);
      if (!link.stream.is_open() && link.deadline <= Clock::now()) {
        link.stream.fail(
            fmt::format("it has not answered for {}", format_duration(options_.connect_timeout)));
      }
    }
  }

  void receive(LinkNumber number, Link& link) {
    for (int i = 0; i < frames_at_once; ++i) {
      const bool awaits_hello = link.address.empty();
      if (!link.stream.receive(link.is_outgoing ? 0
                               : awaits_hello   ? hello_bytes_max
                                                : chunk_bytes_max)) {
        return;
      }
      const Frame& frame = link.stream.frame();
      if (link.is_outgoing && frame.kind == Frame::Kind::acknowledge) {
        on_acknowledge(link, frame.number);
      } else if (!link.is_outgoing && awaits_hello && frame.kind == Frame::Kind::hello) {
        on_hello(link);
      } else if (!link.is_outgoing && !awaits_hello && frame.kind == Frame::Kind::chunk) {
        on_chunk(number, link);
      } else {
        link.stream.fail("it doesn't keep to the protocol");
      }
    }
  }

  void on_hello(Link& link) {
    const std::span<const std::byte> bytes = link.stream.bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t line = text.find('\n');
    if (line == std::string_view::npos || text.substr(0, line) != address_) {
      link.stream.fail("it means another node");
    } else {
      link.address = text.substr(line + 1);
    }
  }

  void on_chunk(LinkNumber number, Link& link) {
    Arrival& arrival = arrivals_.emplace_front();
    arrival.self = arrivals_.begin();
    arrival.link = number;
    arrival.number = link.stream.frame().number;
    arrival.count = link.stream.frame().header.bytes;
    arrival.bytes = link.stream.take_bytes();
    listener_.arrived(link.stream.frame().header, &arrival);
  }

  void on_acknowledge(Link& link, std::uint32_t number) {
    const auto found = link.under_way.find(number);
    if (found == link.under_way.end()) return;
    finished_.push_back({std::move(found->second), {}});
    link.under_way.erase(found);
  }

  // A node is lost with one of its connections; then the other one fails, too.
  void remove_failed() {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (auto entry = links_.begin(); entry != links_.end();) {
        const auto current = entry++;
        if (current->second.stream.failure().empty()) continue;
        remove(current);
        has_changed = true;
      }
    }
  }

  void remove(std::map<LinkNumber, Link>::iterator entry) {
    const auto failed = links_.extract(entry);
    Link& link = failed.mapped();
    const std::string& cause = link.stream.failure();
    for (auto& [number, done] : link.under_way) finished_.push_back({std::move(done), cause});
    if (link.address.empty()) return;
    for (auto& [node, peer] : peers_) {
      if (peer.link == none || peer.address != link.address) continue;
      peer.cause = cause;
      if (peer.link != failed.key()) links_.at(peer.link).stream.fail(cause);
      peer.link = none;
      losses_.push_back(node);
      for (auto& [number, other] : links_) {
        if (other.address == link.address) other.stream.fail(cause);
      }
    }
  }

  void report() {
    for (const NodeId node : std::exchange(losses_, {})) listener_.lost(node, peers_[node].cause);
    for (const auto& [done, failure] : std::exchange(finished_, {})) done(failure);
  }

  WireListener& listener_;
  const TlsWireOptions options_;
  const std::string address_;
  const int woken_;  // an eventfd
  CallQueue calls_;
  bool is_ending_ = false;
  LinkNumber last_link_ = none;
  std::map<LinkNumber, Link> links_;
  std::unordered_map<NodeId, Peer> peers_;
  std::list<Arrival> arrivals_;
  std::vector<Finished> finished_;
  std::vector<NodeId> losses_;
  std::thread thread_;  // last: it uses all the others
};

bool is_tls_wire(std::string_view address) {
  const std::size_t space = address.find(' ');
  return space != std::string_view::npos &&
         address.substr(space + 1, transport.size() + 1) == fmt::format("{} ", transport);
}

void TensorEntry::accept(Connection connection) {
  const std::lock_guard lock(mutex_);
  if (wire_ != nullptr) wire_->accept(std::move(connection));
}

void TensorEntry::set(TlsWire* wire) {
  const std::lock_guard lock(mutex_);
  wire_ = wire;
}

TlsWire::TlsWire(WireListener& listener, TensorEntry& entry, const TlsWireOptions& options)
    : work_(std::make_unique<Work>(listener, options)), entry_(entry) {
  entry_.set(this);
}
TlsWire::~TlsWire() {
  entry_.set(nullptr);
}

std::string TlsWire::address() const {
  return work_->address();
}

void TlsWire::connect(NodeId node, const std::string& address) {
  const HostPort place = read_host_port(parse_address_text(address, transport).place);
  work_->call([this, node, address, place] { work_->connect(node, address, place); });
}

void TlsWire::send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) {
  work_->call([this, to, header, bytes, done = std::move(done)]() mutable {
    work_->send(to, header, bytes, std::move(done));
  });
}

void TlsWire::take(ArrivedChunk chunk, std::byte* target, ChunkDone done) {
  work_->call([this, chunk, target, done = std::move(done)]() mutable {
    work_->take(chunk, target, std::move(done));
  });
}

void TlsWire::drop(ArrivedChunk chunk) {
  work_->call([this, chunk] { work_->drop(chunk); });
}

bool TlsWire::post(std::function<void()> function, bool) {
  work_->push(std::move(function));
  return true;
}

void TlsWire::accept(Connection connection) {
  // Calls can be copied, connections can't.
  const auto shared = std::make_shared<Connection>(std::move(connection));
  work_->call([this, shared] { work_->accept(std::move(*shared)); });
}

}  // namespace troupe
