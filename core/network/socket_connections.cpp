#include "core/network/socket_connections.hpp"

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "core/network/introduction.hpp"
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
// Of a link for parts, at the end of its hello.
constexpr std::string_view for_parts_mark = "\nparts";
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
    use(open(address, place, false), peer);
  } catch (const Error& error) {
    lose(node, peer, error.problem());
  }
}

SocketLink& SocketConnections::open(const std::string& address, const HostPort& place,
                                    bool is_for_parts) {
  const TlsContext* const tls = options_.wire.tls ? &*options_.wire.tls : nullptr;
  Connection connection(begin_connecting(place), Connection::Side::client, tls);
  connection.limit_silence(options_.wire.silence_max);
  SocketLink& link =
      add(FrameStream(Introduction(std::move(connection), Purpose::tensors, tls != nullptr)));
  link.address = address;
  link.is_for_parts = is_for_parts;
  if (!is_for_parts) link.place = place;
  const std::string text =
      fmt::format("{}\n{}{}", address, address_, is_for_parts ? for_parts_mark : "");
  link.stream.send({.kind = Frame::Kind::hello, .header = {.bytes = text.size()}},
                   reinterpret_cast<const std::byte*>(text.data()));
  link.stream.go_on();
  look_after(link);
  return link;
}

void SocketConnections::prepare_for_parts(SocketLink& link) {
  const std::optional<HostPort> place = std::exchange(link.place, {});  // for the only attempt
  if (!place) return;
  try {
    SocketLink& parts = open(link.address, *place, true);
    parts.partner = &link;
    link.partner = &parts;
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
  if (peer.waiting.empty()) peer.deadline = Clock::now() + options_.wire.connect_timeout;
  has_deadlines_ = true;
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
  link.deadline = Clock::now() + options_.wire.connect_timeout;
  has_deadlines_ = true;
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  if (epoll_ctl(ready_, EPOLL_CTL_ADD, link.stream.socket(), &event) != 0) {
    link.stream.fail(system_message(errno));
  }
  look_after(link);
  return link;
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

bool SocketConnections::on_hello(SocketLink& link) {
  const std::size_t line = link.hello.find('\n');
  if (line == std::string::npos || line + 1 == link.hello.size()) return false;
  if (std::string_view(link.hello).substr(0, line) != address_) return false;
  std::string address = link.hello.substr(line + 1);
  if (address.ends_with(for_parts_mark)) {
    address.resize(address.size() - for_parts_mark.size());
    SocketLink* const of_chunks = find_link(address);
    if (of_chunks == nullptr || of_chunks->partner != nullptr) return false;
    link.is_for_parts = true;
    link.partner = of_chunks;
    of_chunks->partner = &link;
    link.address = std::move(address);
    return true;
  }
  link.address = std::move(address);
  for (auto& [node, peer] : peers_) {
    if (peer.address != link.address || !peer.cause.empty()) continue;
    if (peer.link != nullptr) return false;
    use(link, peer);
  }
  return true;
}

void SocketConnections::fail_all_late() {
  has_deadlines_ = false;
  const auto now = Clock::now();
  const auto cause = [this] {
    return fmt::format("it has not answered for {}",
                       format_duration(options_.wire.connect_timeout));
  };
  for (auto& [number, link] : links_) {
    if (link.is_ready() || !link.stream.failure().empty()) continue;
    has_deadlines_ = true;
    if (link.deadline <= now) fail(link, cause());
  }
  for (auto& [node, peer] : peers_) {
    if (peer.waiting.empty()) continue;
    has_deadlines_ = true;
    if (peer.deadline <= now) lose(node, peer, cause());
  }
}

void SocketConnections::fail_partners() {
  for (auto& [number, link] : links_) {
    if (link.partner == nullptr || link.stream.failure().empty()) continue;
    SocketLink& partner = *std::exchange(link.partner, nullptr);
    partner.partner = nullptr;
    // Nothing went over a link for parts that could not be opened.
    const bool is_needed = link.is_ready() || !link.is_for_parts;
    if (is_needed) partner.stream.fail(link.stream.failure());
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
  if (eventfd_read(woken_, &ignored) == 0) return {};
  return {.readable = {ready_, woken_}, .most_ms = patience_ms()};
}

// Until the first deadline; -1: for ever.
int SocketConnections::patience_ms() const {
  if (!has_deadlines_) return -1;
  auto first = Clock::time_point::max();
  for (const auto& [number, link] : links_) {
    if (!link.is_ready()) first = std::min(first, link.deadline);
  }
  for (const auto& [node, peer] : peers_) {
    if (!peer.waiting.empty()) first = std::min(first, peer.deadline);
  }
  if (first == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

void SocketConnections::wake() {
  eventfd_write(woken_, 1);
}

}  // namespace troupe
