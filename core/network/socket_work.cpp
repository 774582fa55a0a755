#include "core/network/socket_work.hpp"

#include "core/base/assert.hpp"

#include <cstring>
#include <utility>

namespace troupe {
namespace {

// So small chunks are sent with the news of them; those that are smaller still are copied if the
// socket is full.
constexpr std::uint64_t small_bytes_max = 64 << 10;
constexpr std::uint64_t copied_bytes_max = 16 << 10;
// Links cut tensors into chunks that are much smaller, unless a machine file says otherwise.
constexpr std::uint64_t chunk_bytes_max = std::uint64_t{1} << 36;
// Of one connection, before others are served; a part of a large chunk counts for many.
constexpr int frames_at_once = 16;
constexpr int frames_for_a_part = frames_at_once;
constexpr int updates_a_look = 8;

}  // namespace

SocketWork::SocketWork(WireListener& listener, const Options& options)
    : listener_(listener), connections_(options) {}

void SocketWork::look_after(SocketLink& link) {
  for (ChunkDone& done : link.stream.ended()) finish(std::move(done));
  connections_.look_after(link);
}

void SocketWork::send(NodeId to, const ChunkHeader& header, const std::byte* bytes,
                      ChunkDone done) {
  SocketLink* const link = connections_.link_to(to);
  if (link == nullptr) {
    connections_.when_linked(to,
                             [=, this, done = std::move(done)](const std::string& failure) mutable {
                               if (failure.empty()) return send(to, header, bytes, std::move(done));
                               finish(std::move(done), failure);
                             });
    return;
  }
  FrameStream& stream = link->stream;
  if (!stream.failure().empty()) {
    finish(std::move(done), stream.failure());
  } else if (header.bytes <= copied_bytes_max && stream.is_open()) {
    stream.send({.kind = Frame::Kind::chunk, .header = header}, bytes);
    finish(std::move(done));
  } else if (header.bytes <= small_bytes_max) {
    stream.send({.kind = Frame::Kind::chunk, .header = header}, bytes, std::move(done));
  } else {
    const std::uint32_t number = link->next_number++;
    link->offers.emplace(number,
                         SocketLink::Offer{.bytes = {bytes, static_cast<std::size_t>(header.bytes)},
                                           .done = std::move(done)});
    stream.send({.kind = Frame::Kind::offer, .number = number, .header = header}, nullptr);
  }
  look_after(*link);
}

bool SocketWork::take(ArrivedChunk chunk, std::byte* target, ChunkDone done) {
  Arrival& arrival = *static_cast<Arrival*>(chunk);
  if (!arrival.is_offered) {
    if (arrival.count > 0) std::memcpy(target, arrival.bytes.get(), arrival.count);
    forget(arrival);
    return true;
  }
  TROUPE_ASSERT(arrival.target == nullptr);
  SocketLink* const link = connections_.find(arrival.link);
  if (link == nullptr || !link->stream.failure().empty()) {
    forget(arrival);
    finish(std::move(done), SocketLink::closed_meanwhile);
    return false;
  }
  link->wanted.emplace(arrival.number, &arrival);
  ++large_under_way_;
  connections_.prepare_for_parts(*link);
  arrival.target = target;
  arrival.done = std::move(done);
  link->stream.send({.kind = Frame::Kind::want, .number = arrival.number}, nullptr);
  look_after(*link);
  return false;
}

void SocketWork::drop(ArrivedChunk chunk) {
  Arrival& arrival = *static_cast<Arrival*>(chunk);
  TROUPE_ASSERT(arrival.target == nullptr);
  SocketLink* const link = connections_.find(arrival.link);
  if (arrival.is_offered && link != nullptr) {
    link->stream.send({.kind = Frame::Kind::decline, .number = arrival.number}, nullptr);
    look_after(*link);
  }
  forget(arrival);
}

bool SocketWork::update() {
  bool has_worked = !pending_.empty();
  has_worked |= connections_.add_accepted();
  has_worked |= look_at_latest();
  const auto pending = std::exchange(pending_, {});
  if (--until_look_ <= 0 || large_under_way_ > 0) {
    has_worked |= look_at_all();
    connections_.fail_late();
  }
  for (const SocketLink::Number number : pending) {
    SocketLink* const link = connections_.find(number);
    if (link == nullptr) continue;
    link->is_pending = false;
    receive(*link);
    look_after(*link);
  }
  if (connections_.has_failed()) {
    for (SocketLink& link : connections_.remove_failed()) fail_chunks_of(link);
    has_worked = true;
  }
  if (finished_.empty()) return has_worked;
  for (const auto& [done, failure] : std::exchange(finished_, {})) done(failure);
  return true;
}

// Whoever has sent something small may send more: to read from that socket takes less than to ask
// which sockets are ready, so that is done every few times only.
bool SocketWork::look_at_latest() {
  SocketLink* const link = connections_.find(latest_);
  if (link == nullptr || !link->stream.is_between_frames()) {
    until_look_ = 0;
    return false;
  }
  link->stream.is_readable();
  const bool has_come = receive(*link);
  look_after(*link);
  return has_come;
}

bool SocketWork::look_at_all() {
  until_look_ = updates_a_look;
  return connections_.each_ready([this](SocketLink& link) { go_on(link); });
}

void SocketWork::go_on(SocketLink& link) {
  link.stream.is_readable();
  if (!link.stream.is_open() || link.stream.wants_write()) link.stream.go_on();
  if (receive(link) && !link.is_for_parts) latest_ = link.number;
  look_after(link);
}

bool SocketWork::receive(SocketLink& link) {
  const FrameStream::Place place = [this, &link](const Frame& frame) {
    return place_of_bytes(link, frame);
  };
  for (int left = frames_at_once; left > 0;) {
    if (!link.stream.receive(place)) return left < frames_at_once;
    const Frame& frame = link.stream.frame();
    left -= frame.kind == Frame::Kind::part ? frames_for_a_part : 1;
    if (!on_frame(link, frame)) link.stream.fail("it doesn't keep to the protocol");
  }
  // Parts come last, so all sockets are looked at before more of them are read.
  const bool has_more =
      link.is_for_parts ? link.stream.has_read_ahead() : link.stream.has_pending();
  if (!link.is_pending && has_more) {
    link.is_pending = true;
    pending_.push_back(link.number);
  }
  return true;
}

std::byte* SocketWork::place_of_bytes(SocketLink& link, const Frame& frame) {
  const std::uint64_t bytes = frame.header.bytes;
  if (frame.kind == Frame::Kind::hello) return connections_.place_of_hello(link, bytes);
  if (link.address.empty()) return nullptr;
  if (frame.kind == Frame::Kind::chunk) {
    if (bytes > small_bytes_max || link.is_for_parts) return nullptr;
    link.chunk = buffers_.get(bytes);
    return link.chunk.get();
  }
  SocketLink* const of_chunks = connections_.of_chunks(link);
  if (of_chunks == nullptr || (link.is_for_parts && !link.is_welcome)) return nullptr;
  const auto wanted = of_chunks->wanted.find(frame.number);
  if (wanted == of_chunks->wanted.end()) return nullptr;
  Arrival& arrival = *wanted->second;
  if (arrival.parts_from == SocketLink::none) arrival.parts_from = link.number;
  const bool is_next = arrival.parts_from == link.number && frame.header.offset == arrival.received;
  return is_next && bytes <= arrival.count - arrival.received ? arrival.target + arrival.received
                                                              : nullptr;
}

bool SocketWork::on_frame(SocketLink& link, const Frame& frame) {
  const std::uint64_t bytes = frame.header.bytes;
  if (link.address.empty()) {
    return frame.kind == Frame::Kind::hello && bytes > 0 && connections_.on_hello(link, frame);
  }
  if (link.is_for_parts && !link.is_welcome) {
    link.is_welcome = frame.kind == Frame::Kind::welcome;
    return link.is_welcome;
  }
  if (link.is_for_parts && frame.kind != Frame::Kind::part) return false;
  switch (frame.kind) {
    case Frame::Kind::chunk:
      arrive(link, frame);
      return true;
    case Frame::Kind::offer:
      // Their numbers count, so none is offered twice.
      if (bytes == 0 || bytes > chunk_bytes_max || frame.number != link.offered++) return false;
      arrive(link, frame);
      return true;
    case Frame::Kind::part:
      if (bytes == 0) return false;
      on_part(*connections_.of_chunks(link), frame);
      return true;
    case Frame::Kind::want:
    case Frame::Kind::decline:
      return on_answer(link, frame);
    default:
      return false;
  }
}

bool SocketWork::on_answer(SocketLink& link, const Frame& frame) {
  auto offer = link.offers.extract(frame.number);
  if (offer.empty()) return false;
  if (frame.kind == Frame::Kind::want) {
    ++large_under_way_;
    connections_.prepare_for_parts(link);
    SocketLink& parts = connections_.for_parts(link);
    parts.stream.send_parts(frame.number, offer.mapped().bytes,
                            [this, done = std::move(offer.mapped().done)](const auto& failure) {
                              --large_under_way_;
                              done(failure);
                            });
    look_after(parts);
  } else {
    finish(std::move(offer.mapped().done));
  }
  return true;
}

void SocketWork::arrive(SocketLink& link, const Frame& frame) {
  Arrival& arrival = arrivals_.emplace_front();
  arrival.self = arrivals_.begin();
  arrival.link = link.number;
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

void SocketWork::on_part(SocketLink& link, const Frame& frame) {
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

void SocketWork::fail_chunks_of(SocketLink& link) {
  const std::string& cause = link.stream.failure();
  for (ChunkDone& done : link.stream.ended()) finish(std::move(done));
  for (auto& [number, offer] : link.offers) finish(std::move(offer.done), cause);
  for (ChunkDone& done : link.stream.unsent()) finish(std::move(done), cause);
  for (auto& [number, arrival] : link.wanted) {
    --large_under_way_;
    finish(std::move(arrival->done), cause);
    forget(*arrival);
  }
}

void SocketWork::report_losses() {
  for (const auto& [node, cause] : connections_.take_losses()) listener_.lost(node, cause);
}

WireRest SocketWork::rest() {
  until_look_ = 0;
  const WireRest rest = connections_.rest();
  return has_more() ? WireRest{} : rest;
}

}  // namespace troupe
