// A Wire over TLS: slower than UCX, but nobody else can read, change or send chunks.
#pragma once

#include "core/base/time.hpp"
#include "core/network/connection.hpp"
#include "core/network/tls_context.hpp"
#include "core/network/wire.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace troupe {

class TlsWire;

// Passes connections from an Acceptor on to the TlsWire that there is at this moment; without one,
// closes them. Thread-safe.
class TensorEntry {
 public:
  void accept(Connection connection);

 private:
  friend class TlsWire;
  void set(TlsWire* wire);

  std::mutex mutex_;
  TlsWire* wire_ = nullptr;
};

struct TlsWireOptions {
  TlsContext tls;
  std::string place;  // of the Acceptor: "10.0.0.1:7420"
  Duration connect_timeout = std::chrono::seconds(10);
};

// Whether this is the address of a TlsWire.
bool is_tls_wire(std::string_view address);

// Two nodes have two connections, one for each direction of chunks: the sender opens it. Each chunk
// is received into memory of the Wire, and the sender's `done` comes after the receiver's take() or
// drop(). All functions of Wire that fail do so as those of ucx_wire.hpp.
class TlsWire final : public Wire {
 public:
  // `listener` and `entry` must outlive the Wire.
  TlsWire(WireListener& listener, TensorEntry& entry, const TlsWireOptions& options);
  ~TlsWire() override;
  TlsWire(const TlsWire&) = delete;
  TlsWire& operator=(const TlsWire&) = delete;

  std::string address() const override;
  void connect(NodeId node, const std::string& address) override;
  void send(NodeId to, const ChunkHeader& header, const std::byte* bytes, ChunkDone done) override;
  void take(ArrivedChunk chunk, std::byte* target, ChunkDone done) override;
  void drop(ArrivedChunk chunk) override;
  bool post(std::function<void()> function, bool polls_next) override;
  bool progress() override { return false; }  // it sleeps in the kernel

  // A connection that another node has opened, for its chunks. Thread-safe.
  void accept(Connection connection);

 private:
  class Work;
  std::unique_ptr<Work> work_;
  TensorEntry& entry_;
};

}  // namespace troupe
