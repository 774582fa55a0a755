#include "core/network/socket_connections.hpp"

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/network/introduction.hpp"
#include "core/network/random_number.hpp"
#include "core/network/tls_context.hpp"
#include "core/network/wire_address.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::uint64_t hello_bytes_max = 1024;
// Connections that others have opened, and on which nobody has said hello.
constexpr std::ptrdiff_t strangers_max = 256;

}  // namespace

SocketConnections::SocketConnections(const Options& options)
    : options_(options),
      address_(new_address_text({.transport = options.transport, .place = options.wire.place})),
      ready_(epoll_create1(EPOLL_CLOEXEC)),
      woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (ready_ < 0 || woken_ < 0) {
    const int error = errno;
    for (const int fd : {ready_, woken_}) {
      if (fd >= 0) close(fd);
    }
    throw run_error("no more descriptors: " + system_message(error));
  }
  options_.entry->set([this](Connection connection) { accept(std::move(connection)); });
}

SocketConnections::~SocketConnections() {
  options_.entry->set(nullptr);
  close(ready_);
  close(woken_);
}

HostPort SocketConnections::place_of(const std::string& address) const {
  const std::string place = parse_address_text(address, options_.transport).place;
  try {
    return read_host_port(place);
  } catch (const Error& error) {  // which is for a user who has written it
    throw run_error(error.problem(), "start all nodes with the same version of Troupe");
  }
}

void SocketConnections::connect(NodeId node, const std::string& address, const HostPort& place) {
  Peer& peer = peers_[node];
  if (peer.address == address && peer.cause.empty()) return;
  if (peer.link != nullptr) fail(*peer.link, SocketLink::closed_meanwhile);
  for (const ChunkDone& ready : std::exchange(peer.waiting, {})) {
    ready(SocketLink::closed_meanwhile);
  }
  std::erase_if(losses_, [node](const Loss& loss) { return loss.node == node; });
  peer = {.address = address};
  if (address_ > address) {
    SocketLink* const link = find_link(address);
    if (link != nullptr) use(*link, peer);
    return;
  }
  try {
    SocketLink& link = open(address, place, {});
    link.place = place;
    use(link, peer);
  } catch (const Error& error) {
    lose(node, peer, error.problem());
  }
}

// `key`: of a link for parts; empty: it is for all else.
SocketLink& SocketConnections::open(const std::string& address, const HostPort& place,
                                    const std::string& key) {
  const TlsContext* const tls = options_.wire.tls ? &*options_.wire.tls : nullptr;
  Connection connection(begin_connecting(place), Connection::Side::client, tls);
  connection.limit_silence(options_.wire.silence_max);
  SocketLink& link =
      add(FrameStream(Introduction(std::move(connection), Purpose::tensors, tls != nullptr)));
  link.address = address;
  link.is_for_parts = !key.empty();
  link.key = link.is_for_parts ? key : fmt::format("{:x}", random_number());
  const std::string text = fmt::format("{}\n{}\n{}", address, address_, link.key);
  link.stream.send({.kind = Frame::Kind::hello,
                    .number = link.is_for_parts ? 1U : 0U,
                    .header = {.bytes = text.size()}},
                   reinterpret_cast<const std::byte*>(text.data()));
  link.stream.go_on();
  look_after(link);
  return link;
}

void SocketConnections::prepare_for_parts(SocketLink& link) {
  const std::optional<HostPort> place = std::exchange(link.place, {});
  if (!place) return;
  try {
    SocketLink& parts = open(link.address, *place, link.key);
    parts.partner = link.number;
    link.partner = parts.number;
  } catch (const Error&) {
    // There are no more descriptors: one connection does.
  }
}

// The one at this address that isn't for parts; null if there is none.
SocketLink* SocketConnections::find_link(const std::string& address) {
  const auto found = std::find_if(links_.begin(), links_.end(), [&](const auto& entry) {
    const SocketLink& link = entry.second;
    return link.address == address && !link.is_for_parts && link.stream.failure().empty();
  });
  return found != links_.end() ? &found->second : nullptr;
}

void SocketConnections::use(SocketLink& link, Peer& peer) {
  peer.link = &link;
  for (const ChunkDone& ready : std::exchange(peer.waiting, {})) ready({});
}

void SocketConnections::lose(NodeId node, Peer& peer, const std::string& cause) {
  peer.link = nullptr;
  peer.cause = cause;
  losses_.push_back({node, cause});
  for (const ChunkDone& ready : std::exchange(peer.waiting, {})) ready(cause);
}

void SocketConnections::fail(SocketLink& link, const std::string& cause) {
  link.stream.fail(cause);
  look_after(link);
}

void SocketConnections::when_linked(NodeId node, ChunkDone ready) {
  const auto found = peers_.find(node);
  if (found == peers_.end()) return ready("the node isn't connected");
  Peer& peer = found->second;
  if (!peer.cause.empty()) return ready(peer.cause);
  // By now, the other end has begun to open one, if it can.
  if (peer.waiting.empty()) peer.deadline = new_deadline();
  peer.waiting.push_back(std::move(ready));
}

void SocketConnections::accept(Connection connection) {
  const std::lock_guard lock(accepted_mutex_);
  accepted_.push_back(std::move(connection));
  has_accepted_ = true;
  wake();
}

void SocketConnections::add_all_accepted() {
  const std::lock_guard lock(accepted_mutex_);
  has_accepted_ = false;
  for (Connection& connection : std::exchange(accepted_, {})) {
    connection.limit_silence(options_.wire.silence_max);
    add(FrameStream(std::move(connection)));
    drop_strangers();
  }
}

// Whoever has not said hello may be anybody: the oldest gives way to what comes, as with an
// Acceptor.
void SocketConnections::drop_strangers() {
  const auto is_stranger = [](const auto& entry) {
    const SocketLink& link = entry.second;
    return link.address.empty() && link.stream.failure().empty();
  };
  if (std::count_if(links_.begin(), links_.end(), is_stranger) <= strangers_max) return;
  const auto oldest = std::find_if(links_.begin(), links_.end(), is_stranger);
  fail(oldest->second, "others came");
}

SocketLink& SocketConnections::add(FrameStream stream) {
  const SocketLink::Number number = ++last_number_;
  SocketLink& link =
      links_.emplace(number, SocketLink{.number = number, .stream = std::move(stream)})
          .first->second;
  link.watched_events = EPOLLIN;
  link.deadline = new_deadline();
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  if (epoll_ctl(ready_, EPOLL_CTL_ADD, link.stream.socket(), &event) != 0) {
    link.stream.fail(system_message(errno));
  }
  look_after(link);
  return link;
}

SocketConnections::Clock::time_point SocketConnections::new_deadline() {
  const Clock::time_point deadline = Clock::now() + options_.wire.connect_timeout;
  if (deadline < next_deadline_) {
    next_deadline_ = deadline;
    has_new_deadline_ = true;
  }
  return deadline;
}

void SocketConnections::watch(const SocketLink& link) const {
  epoll_event event{.events = link.watched_events, .data = {.u64 = link.number}};
  epoll_ctl(ready_, EPOLL_CTL_MOD, link.stream.socket(), &event);
}

std::byte* SocketConnections::place_of_hello(SocketLink& link, std::uint64_t bytes) {
  if (!link.address.empty() || bytes > hello_bytes_max) return nullptr;
  link.hello.resize(bytes);
  return reinterpret_cast<std::byte*>(link.hello.data());
}

bool SocketConnections::on_hello(SocketLink& link, const Frame& frame) {
  const std::size_t to_end = link.hello.find('\n');
  const std::size_t from_end = link.hello.rfind('\n');
  if (to_end == std::string::npos || to_end + 1 >= from_end) return false;
  if (std::string_view(link.hello).substr(0, to_end) != address_) return false;
  const std::string address = link.hello.substr(to_end + 1, from_end - to_end - 1);
  const std::string key = link.hello.substr(from_end + 1);
  if (key.empty() || frame.number > 1) return false;
  if (frame.number == 1) return on_hello_for_parts(link, address, key);
  link.address = address;
  link.key = key;
  for (auto& [node, peer] : peers_) {
    if (peer.address != link.address || !peer.cause.empty()) continue;
    if (peer.link != nullptr) return false;
    use(link, peer);
  }
  return true;
}

bool SocketConnections::on_hello_for_parts(SocketLink& link, const std::string& address,
                                           const std::string& key) {
  SocketLink* const of_chunks = find_link(address);
  const bool is_first = of_chunks != nullptr && of_chunks->partner == SocketLink::none;
  if (address_ < address || !is_first || of_chunks->key != key) return false;
  link.address = address;
  link.is_for_parts = true;
  link.is_welcome = true;
  link.partner = of_chunks->number;
  of_chunks->partner = link.number;
  link.stream.send({.kind = Frame::Kind::welcome}, nullptr);
  return true;
}

void SocketConnections::fail_all_late() {
  next_deadline_ = Clock::time_point::max();
  const auto now = Clock::now();
  const auto is_late = [this, now](Clock::time_point deadline) {
    if (deadline > now) next_deadline_ = std::min(next_deadline_, deadline);
    return deadline <= now;
  };
  const auto cause = [this] {
    return fmt::format("it has not answered for {}",
                       format_duration(options_.wire.connect_timeout));
  };
  for (auto& [number, link] : links_) {
    const bool may_fail = !link.is_ready() && link.stream.failure().empty();
    if (may_fail && is_late(link.deadline)) fail(link, cause());
  }
  for (auto& [node, peer] : peers_) {
    if (!peer.waiting.empty() && is_late(peer.deadline)) lose(node, peer, cause());
  }
}

void SocketConnections::fail_partners() {
  for (auto& [number, link] : links_) {
    SocketLink* const partner = find(link.partner);
    if (partner == nullptr || link.stream.failure().empty()) continue;
    // Nothing has gone over a link for parts that isn't welcome.
    const bool is_needed = link.is_welcome || !link.is_for_parts;
    if (is_needed) partner->stream.fail(link.stream.failure());
  }
}

std::vector<SocketLink> SocketConnections::remove_failed() {
  fail_partners();
  has_failed_ = false;
  std::vector<SocketLink> failed;
  for (auto entry = links_.begin(); entry != links_.end();) {
    const auto current = entry++;
    SocketLink& link = current->second;
    if (link.stream.failure().empty()) continue;
    for (auto& [node, peer] : peers_) {
      if (peer.link == &link) lose(node, peer, link.stream.failure());
    }
    failed.push_back(std::move(link));
    links_.erase(current);
  }
  return failed;
}

WireRest SocketConnections::rest() {
  eventfd_t ignored = 0;
  has_new_deadline_ = false;
  if (eventfd_read(woken_, &ignored) == 0) return {};
  return {.readable = {ready_, woken_}, .most_ms = patience_ms()};
}

// Until the next deadline; -1: for ever.
int SocketConnections::patience_ms() const {
  if (next_deadline_ == Clock::time_point::max()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(next_deadline_ - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void SocketConnections::wake() {
  eventfd_write(woken_, 1);
}

}  // namespace troupe
