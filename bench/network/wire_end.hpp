// One end of a Wire that is measured.
#pragma once

#include "bench/network/raw.hpp"
#include "core/network/acceptor.hpp"
#include "core/network/load_wire.hpp"
#include "core/network/socket_wire.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace network_bench {

using troupe::ArrivedChunk;
using troupe::ChunkHeader;
using troupe::NodeId;

enum class Transport : std::uint8_t { tcp, shared_memory };
// ChunkHeader::resource of what is sent here. ChunkHeader::replica of a piece is the number of all
// pieces; 0: they aren't counted.
enum Kind : std::uint32_t { ping, pong, piece, all_taken };
constexpr std::size_t ping_bytes = 64;

// Pings are answered, and streams taken, on the wire's thread.
class WireEnd final : public troupe::WireListener {
 public:
  WireEnd(std::uint32_t node, Transport transport, troupe::Duration spin, Pool& pool)
      : node_(node), pool_(pool) {
    if (transport == Transport::shared_memory) {
      wire_ = troupe::load_ucx_wire(*this, {.spin = spin});
      return;
    }
    acceptor_.emplace(
        troupe::AcceptorOptions{},
        [this](troupe::Purpose, troupe::Connection connection) {
          entry_.accept(std::move(connection));
        },
        [](const std::string&, const std::string&) {});
    wire_ = troupe::make_socket_wire(
        *this, entry_, {.place = fmt::format("127.0.0.1:{}", acceptor_->port()), .spin = spin});
  }
  troupe::Wire& wire() { return *wire_; }

  RoundTrips round_trips(std::size_t count) {
    times_.clear();
    go_there_and_back(count);
    return times_;
  }
  // Each begins when both sides have slept for some time.
  RoundTrips round_trips_of_sleepers(std::size_t count) {
    times_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      go_there_and_back(1);
    }
    return times_;
  }
  // So many pieces are on their way all the time.
  RoundTrips round_trips_beside_stream(std::size_t count, std::size_t piece_bytes,
                                       std::uint64_t in_flight) {
    begin_stream({.piece_bytes = piece_bytes, .pieces = endless}, in_flight);
    RoundTrips times = round_trips(count);
    std::unique_lock lock(pieces_mutex_);
    to_send_.pieces = 0;
    piece_sent_.wait(lock, [&] { return pieces_under_way_ == 0; });
    return times;
  }
  // Seconds until the other side has taken all.
  double stream(Stream stream, std::uint64_t in_flight) {
    const std::int64_t begin = now_ns();
    begin_stream(stream, in_flight);
    wait();
    return static_cast<double>(now_ns() - begin) * 1e-9;
  }

  void arrived(const ChunkHeader& header, ArrivedChunk chunk) override {
    const bool is_piece = header.resource == piece;
    std::byte* const target = is_piece ? pool_.next(header.bytes) : ping_.data();
    const troupe::ChunkDone done = [this, header](const std::string&) { taken(header); };
    if (wire_->take(chunk, target, done)) done({});
  }
  void lost(NodeId, const std::string&) override {}

 private:
  static constexpr std::uint64_t endless = std::uint64_t{1} << 62;

  void go_there_and_back(std::size_t count) {
    pings_left_ = count;
    begun_ns_ = now_ns();
    send(ping, ping_bytes, ping_.data());
    wait();
  }
  void begin_stream(Stream stream, std::uint64_t in_flight) {
    const std::lock_guard lock(pieces_mutex_);
    to_send_ = stream;
    pieces_of_stream_ = stream.pieces;
    for (std::uint64_t i = 0; i < in_flight; ++i) send_piece();
  }

  void taken(const ChunkHeader& header) {
    switch (header.resource) {
      case ping:
        send(pong, ping_bytes, ping_.data());
        break;
      case pong: {
        const std::int64_t now = now_ns();
        times_.push_back(now - begun_ns_);
        begun_ns_ = now_ns();
        --pings_left_ > 0 ? send(ping, ping_bytes, ping_.data()) : finish();
        break;
      }
      case piece:
        if (header.replica != 0 && ++pieces_taken_ == header.replica) {
          pieces_taken_ = 0;
          send(all_taken, 0, nullptr);
        }
        break;
      default:
        finish();
    }
  }
  void send_piece() {
    if (to_send_.pieces == 0) return;
    --to_send_.pieces;
    ++pieces_under_way_;
    ChunkHeader header = header_of(piece, to_send_.piece_bytes);
    header.replica =
        pieces_of_stream_ == endless ? 0 : static_cast<std::uint32_t>(pieces_of_stream_);
    wire_->send(NodeId{1 - node_}, header, pool_.next(to_send_.piece_bytes),
                [this](const std::string&) {
                  const std::lock_guard lock(pieces_mutex_);
                  --pieces_under_way_;
                  send_piece();
                  piece_sent_.notify_all();
                });
  }
  void send(Kind kind, std::size_t bytes, const std::byte* data) {
    wire_->send(NodeId{1 - node_}, header_of(kind, bytes), data, [](const std::string&) {});
  }
  ChunkHeader header_of(Kind kind, std::size_t bytes) const {
    return {.resource = kind, .from = node_, .bytes = bytes};
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    finished_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return is_finished_; });
    is_finished_ = false;
  }

  const std::uint32_t node_;
  Pool& pool_;
  std::array<std::byte, ping_bytes> ping_{};
  RoundTrips times_;
  std::size_t pings_left_ = 0;
  std::int64_t begun_ns_ = 0;
  std::mutex pieces_mutex_;
  Stream to_send_;
  std::uint64_t pieces_of_stream_ = 0;
  std::uint64_t pieces_under_way_ = 0;
  std::condition_variable piece_sent_;
  std::uint32_t pieces_taken_ = 0;
  std::mutex mutex_;
  std::condition_variable finished_;
  bool is_finished_ = false;
  troupe::TensorEntry entry_;
  std::optional<troupe::Acceptor> acceptor_;
  std::unique_ptr<troupe::Wire> wire_;
};

}  // namespace network_bench
