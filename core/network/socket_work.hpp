// What a Wire over sockets does, whichever thread does it.
#pragma once

#include "core/network/chunk_buffers.hpp"
#include "core/network/frame_stream.hpp"
#include "core/network/host_port.hpp"
#include "core/network/socket_connections.hpp"
#include "core/network/socket_link.hpp"
#include "core/network/wire.hpp"
#include "core/network/wire_rest.hpp"

#include <cstddef>
#include <list>
#include <string>
#include <vector>

namespace troupe {

// Sends and receives chunks over SocketConnections. What is to be sent to a node that has yet to
// open its connection waits for that. See PolledWire for what the functions do.
//
// A large chunk is offered, and its bytes are sent once the receiver wants them: it says so when it
// takes the chunk, and the bytes go to their target from the socket.
class SocketWork {
 public:
  using Options = SocketConnections::Options;

  SocketWork(WireListener& listener, const Options& options);
  SocketWork(const SocketWork&) = delete;
  SocketWork& operator=(const SocketWork&) = delete;

  const std::string& address() const { return connections_.address(); }
  HostPort place_of(const std::string& address) const { return connections_.place_of(address); }
  void connect(NodeId node, const std::string& address, const HostPort& place) {
    connections_.connect(node, address, place);
  }
  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done);
  bool take(ArrivedChunk chunk, std::byte* target, ChunkDone done);
  void drop(ArrivedChunk chunk);
  bool update();
  bool has_losses() const { return connections_.has_losses(); }
  void report_losses();
  bool has_more() const {
    return connections_.has_failed() || connections_.has_new_deadline() || !pending_.empty() ||
           !finished_.empty();
  }
  bool has_large() const { return large_under_way_ > 0; }
  WireRest rest();
  void wake() { connections_.wake(); }

 private:
  using Arrival = SocketLink::Arrival;
  struct Finished {
    ChunkDone done;
    std::string failure;
  };

  // To be called whenever something was done with its stream.
  void look_after(SocketLink& link);
  // True if something has happened.
  bool look_at_latest();
  bool look_at_all();
  void go_on(SocketLink& link);
  // True if frames have come.
  bool receive(SocketLink& link);
  // False: the frame is against the protocol.
  bool on_frame(SocketLink& link, const Frame& frame);
  std::byte* place_of_bytes(SocketLink& link, const Frame& frame);
  bool on_answer(SocketLink& link, const Frame& frame);
  void arrive(SocketLink& link, const Frame& frame);
  void on_part(SocketLink& link, const Frame& frame);
  void finish(ChunkDone done, const std::string& failure = {});
  void forget(Arrival& arrival) { arrivals_.erase(arrival.self); }
  void fail_chunks_of(SocketLink& link);

  WireListener& listener_;
  ChunkBuffers buffers_;  // before those who use them
  SocketConnections connections_;
  std::vector<SocketLink::Number> pending_;  // that may have frames though their sockets have none
  SocketLink::Number latest_ = SocketLink::none;  // the one that frames came from
  int until_look_ = 0;                            // updates, at all of them
  std::list<Arrival> arrivals_;
  std::size_t large_under_way_ = 0;  // chunks that are wanted, of this node or by it
  std::vector<Finished> finished_;
};

}  // namespace troupe
