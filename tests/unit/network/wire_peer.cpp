// A node for wire_death_test.cpp to kill: wire_peer TRANSPORT take|keep SENDS CERTIFICATES
// Prints its address, reads that of node 0 and joins it; then sends SENDS chunks of 1 MiB without
// end, each when one before it has been sent, and takes or keeps what arrives: it prints "arrived"
// for what it keeps. Ends with its input.
#include "tests/unit/network/any_wire.hpp"

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::testing;

constexpr std::size_t chunk_bytes = 1024 * 1024;

class Peer final : public WireListener {
 public:
  Peer(Transport transport, bool takes, const std::string& certificates)
      : takes_(takes), wire_(*this, transport, certificates) {}
  Wire& wire() { return *wire_; }

  void arrived(const ChunkHeader&, ArrivedChunk chunk) override {
    if (takes_) {
      static_cast<void>(wire_->take(chunk, in_.data(), [](const std::string&) {}));
    } else {
      std::cout << "arrived" << std::endl;
    }
  }
  void lost(NodeId, const std::string&) override {}

  // Whichever end opens the connection, there is one when this chunk arrives.
  void send_empty() {
    wire_->send(NodeId{0}, {.from = 1}, nullptr, [](const std::string&) {});
  }
  void send() {
    const ChunkHeader header{.from = 1, .bytes = chunk_bytes};
    wire_->send(NodeId{0}, header, out_.data(), [this](const std::string& failure) {
      if (failure.empty()) send();
    });
  }

 private:
  const bool takes_;
  std::vector<std::byte> in_ = std::vector<std::byte>(chunk_bytes);
  std::vector<std::byte> out_ = std::vector<std::byte>(chunk_bytes);
  AnyWire wire_;
};

}  // namespace

int main(int, char** arguments) {
  Peer peer(transport_named(arguments[1]), std::string_view(arguments[2]) == "take", arguments[4]);
  std::cout << peer.wire().address() << std::endl;
  std::string line;
  std::getline(std::cin, line);
  peer.wire().connect(NodeId{0}, line);
  peer.send_empty();
  std::cout << "connected" << std::endl;
  for (int i = 0; i < std::atoi(arguments[3]); ++i) peer.send();
  while (std::getline(std::cin, line)) {
  }
}
