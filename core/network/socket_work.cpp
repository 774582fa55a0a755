#include "core/network/socket_work.hpp"

#include "core/base/assert.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/network/wire_address.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::uint64_t hello_bytes_max = 1024;
// So small chunks are sent with the news of them; those that are smaller still are copied if the
// socket is full.
constexpr std::uint64_t small_bytes_max = 64 << 10;
constexpr std::uint64_t copied_bytes_max = 16 << 10;
// Links cut tensors into chunks that are much smaller, unless a machine file says otherwise.
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{1} << 36;
// Of one connection, before others are served; a part of a large chunk counts for many.
constexpr int frames_at_once = 16;
constexpr int frames_for_a_part = 8;
constexpr int updates_a_look = 8;
// Connections that others have opened, and on which nobody has said hello.
constexpr std::ptrdiff_t strangers_max = 256;
constexpr const char* closed_meanwhile = "the connection was closed";

}  // namespace

SocketWork::SocketWork(WireListener& listener, const Options& options)
    : listener_(listener),
      options_(options),
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

SocketWork::~SocketWork() {
  options_.entry->set(nullptr);
  close(ready_);
  close(woken_);
}

HostPort SocketWork::place_of(const std::string& address) const {
  const std::string place = parse_address_text(address, options_.transport).place;
  try {
    return read_host_port(place);
  } catch (const Error& error) {  // which is for a user who has written it
    throw run_error(error.problem(), "start all nodes with the same version of Troupe");
  }
}

void SocketWork::connect(NodeId node, const std::string& address, const HostPort& place) {
  Peer& peer = peers_[node];
  if (peer.address == address && peer.cause.empty()) return;
  if (peer.link != none) fail(peer.link, closed_meanwhile);
  for (ChunkDone& done : peer.waiting) finish(std::move(done), closed_meanwhile);
  std::erase_if(losses_, [node](const Loss& loss) { return loss.node == node; });
  peer = {.address = address};
  if (address_ < address) return open(node, peer, place);
  const auto link = std::find_if(links_.begin(), links_.end(), [&](const auto& entry) {
    return entry.second.address == address && entry.second.stream.failure().empty();
  });
  if (link != links_.end()) use(link->first, peer);
}

void SocketWork::open(NodeId node, Peer& peer, const HostPort& place) {
  try {
    const TlsContext* const tls = options_.wire.tls ? &*options_.wire.tls : nullptr;
    Connection connection(begin_connecting(place), Connection::Side::client, tls);
    connection.limit_silence(options_.wire.silence_max);
    const auto entry =
        add(FrameStream(Introduction(std::move(connection), Purpose::tensors, tls != nullptr)));
    Link& link = entry->second;
    link.address = peer.address;
    const std::string text = peer.address + "\n" + address_;
    link.stream.send({.kind = Frame::Kind::hello, .header = {.bytes = text.size()}},
                     reinterpret_cast<const std::byte*>(text.data()));
    link.stream.go_on();
    look_after(entry->first, link);
    use(entry->first, peer);
  } catch (const Error& error) {
    lose(node, peer, error.problem());
  }
}

void SocketWork::use(LinkNumber number, Peer& peer) {
  peer.link = number;
  for (const ChunkDone& go_on : std::exchange(peer.waiting, {})) go_on({});
}

void SocketWork::lose(NodeId node, Peer& peer, const std::string& cause) {
  for (ChunkDone& done : std::exchange(peer.waiting, {})) finish(std::move(done), cause);
  peer.link = none;
  peer.cause = cause;
  losses_.push_back({node, cause});
}

void SocketWork::fail(LinkNumber number, const std::string& cause) {
  const auto link = links_.find(number);
  if (link == links_.end()) return;
  link->second.stream.fail(cause);
  look_after(number, link->second);
}

void SocketWork::accept(Connection connection) {
  const std::lock_guard lock(accepted_mutex_);
  accepted_.push_back(std::move(connection));
  has_accepted_ = true;
  wake();
}

void SocketWork::add_accepted() {
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
void SocketWork::drop_strangers() {
  const auto is_stranger = [](const auto& entry) {
    const Link& link = entry.second;
    return link.address.empty() && link.stream.failure().empty();
  };
  if (std::count_if(links_.begin(), links_.end(), is_stranger) <= strangers_max) return;
  const auto oldest = std::find_if(links_.begin(), links_.end(), is_stranger);
  fail(oldest->first, "others came");
}

SocketWork::Links::iterator SocketWork::add(FrameStream stream) {
  const auto entry = links_.emplace(++last_link_, Link{.stream = std::move(stream)}).first;
  Link& link = entry->second;
  link.watched_events = EPOLLIN;
  link.deadline = Clock::now() + options_.wire.connect_timeout;
  has_deadlines_ = true;
  epoll_event event{.events = EPOLLIN, .data = {.u64 = entry->first}};
  if (epoll_ctl(ready_, EPOLL_CTL_ADD, link.stream.socket(), &event) != 0) {
    link.stream.fail(system_message(errno));
  }
  look_after(entry->first, link);
  return entry;
}

void SocketWork::look_after(LinkNumber number, Link& link) {
  for (ChunkDone& done : link.stream.ended()) finish(std::move(done));
  if (!link.stream.failure().empty()) {
    has_failed_links_ = true;
    return;
  }
  const std::uint32_t wanted = EPOLLIN | (link.stream.wants_write() ? EPOLLOUT : 0U);
  if (wanted == std::exchange(link.watched_events, wanted)) return;
  epoll_event event{.events = wanted, .data = {.u64 = number}};
  epoll_ctl(ready_, EPOLL_CTL_MOD, link.stream.socket(), &event);
}

void SocketWork::send(NodeId to, const ChunkHeader& header, const std::byte* bytes,
                      ChunkDone done) {
  const auto found = peers_.find(to);
  if (found == peers_.end()) return finish(std::move(done), "the node isn't connected");
  Peer& peer = found->second;
  if (!peer.cause.empty()) return finish(std::move(done), peer.cause);
  if (peer.link == none) {
    // By now, the other end has begun to open one, if it can.
    if (peer.waiting.empty()) peer.deadline = Clock::now() + options_.wire.connect_timeout;
    has_deadlines_ = true;
    peer.waiting.push_back([=, this, done = std::move(done)](const std::string& failure) mutable {
      if (failure.empty()) return send(to, header, bytes, std::move(done));
      done(failure);
    });
    return;
  }
  Link& link = links_.at(peer.link);
  FrameStream& stream = link.stream;
  if (!stream.failure().empty()) {
    finish(std::move(done), stream.failure());
  } else if (header.bytes <= copied_bytes_max && stream.is_open()) {
    stream.send({.kind = Frame::Kind::chunk, .header = header}, bytes);
    finish(std::move(done));
  } else if (header.bytes <= small_bytes_max) {
    stream.send({.kind = Frame::Kind::chunk, .header = header}, bytes, std::move(done));
  } else {
    const std::uint32_t number = link.next_number++;
    ++large_under_way_;
    link.offers.emplace(number,
                        Offer{.bytes = {bytes, static_cast<std::size_t>(header.bytes)},
                              .done = [this, done = std::move(done)](const std::string& failure) {
                                --large_under_way_;
                                done(failure);
                              }});
    stream.send({.kind = Frame::Kind::offer, .number = number, .header = header}, nullptr);
  }
  look_after(peer.link, link);
}

bool SocketWork::take(ArrivedChunk chunk, std::byte* target, ChunkDone done) {
  Arrival& arrival = *static_cast<Arrival*>(chunk);
  if (!arrival.is_offered) {
    if (arrival.count > 0) std::memcpy(target, arrival.bytes.get(), arrival.count);
    forget(arrival);
    return true;
  }
  TROUPE_ASSERT(arrival.target == nullptr);
  const auto link = links_.find(arrival.link);
  const bool is_there = link != links_.end() && link->second.stream.failure().empty() &&
                        link->second.wanted.emplace(arrival.number, &arrival).second;
  if (!is_there) {
    forget(arrival);
    finish(std::move(done), closed_meanwhile);
    return false;
  }
  ++large_under_way_;
  arrival.target = target;
  arrival.done = std::move(done);
  link->second.stream.send({.kind = Frame::Kind::want, .number = arrival.number}, nullptr);
  look_after(link->first, link->second);
  return false;
}

void SocketWork::drop(ArrivedChunk chunk) {
  Arrival& arrival = *static_cast<Arrival*>(chunk);
  TROUPE_ASSERT(arrival.target == nullptr);
  const auto link = links_.find(arrival.link);
  if (arrival.is_offered && link != links_.end()) {
    link->second.stream.send({.kind = Frame::Kind::decline, .number = arrival.number}, nullptr);
    look_after(link->first, link->second);
  }
  forget(arrival);
}

bool SocketWork::update() {
  bool has_worked = !pending_.empty();
  if (has_accepted_.load(std::memory_order_relaxed)) {
    add_accepted();
    has_worked = true;
  }
  has_worked |= look_at_latest();
  if (--until_look_ <= 0) has_worked |= look_at_all();
  for (const LinkNumber number : std::exchange(pending_, {})) {
    const auto link = links_.find(number);
    if (link == links_.end()) continue;
    link->second.is_pending = false;
    receive(number, link->second);
    look_after(number, link->second);
  }
  if (has_deadlines_) fail_late();
  if (has_failed_links_) {
    remove_failed();
    has_worked = true;
  }
  if (finished_.empty()) return has_worked;
  for (const auto& [done, failure] : std::exchange(finished_, {})) done(failure);
  return true;
}

// Whoever has sent something small may send more: to read from that socket takes less than to ask
// which sockets are ready, so that is done every few times only.
bool SocketWork::look_at_latest() {
  const auto link = links_.find(latest_);
  if (link == links_.end() || !link->second.stream.is_between_frames()) {
    until_look_ = 0;
    return false;
  }
  link->second.stream.is_readable();
  const bool has_come = receive(latest_, link->second);
  look_after(latest_, link->second);
  return has_come;
}

bool SocketWork::look_at_all() {
  until_look_ = updates_a_look;
  std::array<epoll_event, 32> events;
  const int count = epoll_wait(ready_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto link = links_.find(events[static_cast<std::size_t>(i)].data.u64);
    if (link != links_.end()) go_on(link->first, link->second);
  }
  return count > 0;
}

void SocketWork::go_on(LinkNumber number, Link& link) {
  link.stream.is_readable();
  if (!link.stream.is_open() || link.stream.wants_write()) link.stream.go_on();
  if (receive(number, link)) latest_ = number;
  look_after(number, link);
}

bool SocketWork::receive(LinkNumber number, Link& link) {
  const FrameStream::Place place = [this, &link](const Frame& frame) {
    return place_of_bytes(link, frame);
  };
  for (int left = frames_at_once; left > 0;) {
    if (!link.stream.receive(place)) return left < frames_at_once;
    const Frame& frame = link.stream.frame();
    left -= frame.kind == Frame::Kind::part ? frames_for_a_part : 1;
    if (!on_frame(number, link, frame)) link.stream.fail("it doesn't keep to the protocol");
  }
  if (!link.is_pending && link.stream.has_pending()) {
    link.is_pending = true;
    pending_.push_back(number);
  }
  return true;
}

std::byte* SocketWork::place_of_bytes(Link& link, const Frame& frame) {
  const std::uint64_t bytes = frame.header.bytes;
  if (frame.kind == Frame::Kind::hello) {
    if (!link.address.empty() || bytes > hello_bytes_max) return nullptr;
    link.hello.resize(bytes);
    return reinterpret_cast<std::byte*>(link.hello.data());
  }
  if (link.address.empty()) return nullptr;
  if (frame.kind == Frame::Kind::chunk) {
    if (bytes > small_bytes_max) return nullptr;
    link.chunk = buffers_.get(bytes);
    return link.chunk.get();
  }
  const auto wanted = link.wanted.find(frame.number);
  if (wanted == link.wanted.end()) return nullptr;
  const Arrival& arrival = *wanted->second;
  const bool is_next = frame.header.offset == arrival.received;
  return is_next && bytes <= arrival.count - arrival.received ? arrival.target + arrival.received
                                                              : nullptr;
}

bool SocketWork::on_frame(LinkNumber number, Link& link, const Frame& frame) {
  const std::uint64_t bytes = frame.header.bytes;
  if (link.address.empty()) {
    return frame.kind == Frame::Kind::hello && bytes > 0 && on_hello(number, link);
  }
  switch (frame.kind) {
    case Frame::Kind::chunk:
      arrive(number, link, frame);
      return true;
    case Frame::Kind::offer:
      if (bytes == 0 || bytes > chunk_bytes_max) return false;
      arrive(number, link, frame);
      return true;
    case Frame::Kind::part:
      if (bytes == 0) return false;
      on_part(link, frame);
      return true;
    case Frame::Kind::want:
    case Frame::Kind::decline:
      return on_answer(link, frame);
    default:
      return false;
  }
}

// False if it means another node, such as one that has been here before, or comes from one that has
// a connection.
bool SocketWork::on_hello(LinkNumber number, Link& link) {
  const std::size_t line = link.hello.find('\n');
  if (line == std::string::npos || line + 1 == link.hello.size()) return false;
  if (std::string_view(link.hello).substr(0, line) != address_) return false;
  link.address = link.hello.substr(line + 1);
  for (auto& [node, peer] : peers_) {
    if (peer.address != link.address || !peer.cause.empty()) continue;
    if (peer.link != none) return false;
    use(number, peer);
  }
  return true;
}

bool SocketWork::on_answer(Link& link, const Frame& frame) {
  auto offer = link.offers.extract(frame.number);
  if (offer.empty()) return false;
  if (frame.kind == Frame::Kind::want) {
    link.stream.send_parts(frame.number, offer.mapped().bytes, std::move(offer.mapped().done));
  } else {
    finish(std::move(offer.mapped().done));
  }
  return true;
}

void SocketWork::arrive(LinkNumber number, Link& link, const Frame& frame) {
  Arrival& arrival = arrivals_.emplace_front();
  arrival.self = arrivals_.begin();
  arrival.link = number;
  arrival.count = frame.header.bytes;
  arrival.is_offered = frame.kind == Frame::Kind::offer;
  if (arrival.is_offered) {
    arrival.number = frame.number;
  } else {
    arrival.bytes = std::move(link.chunk);
  }
  const ChunkHeader header = frame.header;
  listener_.arrived(header, &arrival);
}

void SocketWork::on_part(Link& link, const Frame& frame) {
  const auto wanted = link.wanted.find(frame.number);
  Arrival& arrival = *wanted->second;
  arrival.received += frame.header.bytes;
  if (arrival.received < arrival.count) return;
  link.wanted.erase(wanted);
  --large_under_way_;
  finish(std::move(arrival.done));
  forget(arrival);
}

void SocketWork::finish(ChunkDone done, const std::string& failure) {
  finished_.push_back({.done = std::move(done), .failure = failure});
}

void SocketWork::fail_late() {
  has_deadlines_ = false;
  const auto now = Clock::now();
  const auto cause = [this] {
    return fmt::format("it has not answered for {}",
                       format_duration(options_.wire.connect_timeout));
  };
  for (auto& [number, link] : links_) {
    if (link.is_ready() || !link.stream.failure().empty()) continue;
    has_deadlines_ = true;
    if (link.deadline <= now) fail(number, cause());
  }
  for (auto& [node, peer] : peers_) {
    if (peer.waiting.empty()) continue;
    has_deadlines_ = true;
    if (peer.deadline <= now) lose(node, peer, cause());
  }
}

void SocketWork::remove_failed() {
  has_failed_links_ = false;
  for (auto entry = links_.begin(); entry != links_.end();) {
    const auto current = entry++;
    if (!current->second.stream.failure().empty()) remove(current);
  }
}

void SocketWork::remove(Links::iterator entry) {
  const auto failed = links_.extract(entry);
  Link& link = failed.mapped();
  const std::string& cause = link.stream.failure();
  for (auto& [number, offer] : link.offers) finish(std::move(offer.done), cause);
  for (ChunkDone& done : link.stream.unsent()) finish(std::move(done), cause);
  for (auto& [number, arrival] : link.wanted) {
    --large_under_way_;
    finish(std::move(arrival->done), cause);
    forget(*arrival);
  }
  for (auto& [node, peer] : peers_) {
    if (peer.link == failed.key()) lose(node, peer, cause);
  }
}

void SocketWork::report_losses() {
  for (const Loss& loss : std::exchange(losses_, {})) listener_.lost(loss.node, loss.cause);
}

WireRest SocketWork::rest() {
  eventfd_t ignored = 0;
  until_look_ = 0;
  const bool was_woken = eventfd_read(woken_, &ignored) == 0;
  if (was_woken || has_more()) return {};
  return {.readable = {ready_, woken_}, .most_ms = patience_ms()};
}

// Until the first deadline; -1: for ever.
int SocketWork::patience_ms() const {
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

void SocketWork::wake() {
  eventfd_write(woken_, 1);
}

}  // namespace troupe
