#include "core/backend/network/network_backend.hpp"

#include "core/backend/network/network_port.hpp"
#include "core/backend/network/ordered_ends.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// So many chunks of a direction may be under way: then the wire never runs dry.
constexpr std::uint32_t chunks_under_way_max = 4;
// Smaller tensors are copied, and their transfer has finished: that costs less than to report its
// end from another thread. That a node doesn't get them, the wire reports.
constexpr std::uint64_t copied_bytes_max = 16 << 10;

Error not_sent(const std::string& failure) {
  return run_error(fmt::format("a tensor could not be sent over the network: {}", failure),
                   "see what has become of the node that was to receive it");
}

class NetworkLink final : public LinkBackend {
 public:
  NetworkLink(const BackendContext& context, LinkId id)
      : machine_(context.machine),
        link_(machine_.link(id)),
        store_(context.store),
        port_(*context.network),
        ends_{std::make_shared<OrderedEnds>(context.completions),
              std::make_shared<OrderedEnds>(context.completions)} {}
  ~NetworkLink() override {
    for (const auto& ends : ends_) {
      ends->leave();
      port_.forget(*ends);
    }
  }

  Started start(Direction direction, const ChunkMove& move) override {
    const std::shared_ptr<OrderedEnds>& ends = ends_[static_cast<std::size_t>(direction)];
    ends->begin(move.slot);
    try {
      const bool is_sent = machine_.memory(link_.target(direction)).kind == MemoryKind::network;
      return is_sent ? send(move, ends) : receive(move, *ends);
    } catch (...) {
      ends->take_back();
      throw;
    }
  }

 private:
  Started send(const ChunkMove& move, const std::shared_ptr<OrderedEnds>& ends) {
    TROUPE_ASSERT(store_.data(move.from) != nullptr && move.next);
    const std::byte* const bytes = store_.data(move.from) + move.offset;
    const NodeId to = machine_.links[move.next->resource - machine_.devices.size()].node;
    const ChunkHeader header{.window = move.next->window,
                             .resource = move.next->resource,
                             .item = move.next->item,
                             .replica = move.to.value,
                             .offset = move.offset,
                             .bytes = move.bytes};
    if (move.first && move.last && move.bytes <= copied_bytes_max) {
      const auto copy = std::make_shared<std::vector<std::byte>>(bytes, bytes + move.bytes);
      port_.send(to, header, copy->data(), [copy](const std::string&) {});
      return ends->end_at_once();
    }
    port_.send(to, header, bytes, [ends, slot = move.slot](const std::string& failure) {
      if (failure.empty()) {
        ends->completed(slot);
      } else {
        ends->failed(slot, not_sent(failure).what());
      }
    });
    return {.state = Started::State::pending};
  }

  Started receive(const ChunkMove& move, OrderedEnds& ends) {
    const MemoryStore::View to = store_.view(move.to);
    const Started started = port_.receive(move, {to.data, to.type.bytes()}, ends);
    return started.state == Started::State::finished ? ends.end_at_once() : started;
  }

  const Machine& machine_;
  const Link& link_;
  MemoryStore& store_;
  NetworkPort& port_;
  const std::shared_ptr<OrderedEnds> ends_[2];  // by direction
};

// A tensor can go from node to node over one switch: real ones are no concern of Troupe's.
bool network_fits(const Machine& machine, LinkId id) {
  const Link& link = machine.link(id);
  return (joins_nodes(machine, link.a) && is_host_ram(machine, link.b)) ||
         (joins_nodes(machine, link.b) && is_host_ram(machine, link.a));
}

std::unique_ptr<LinkBackend> make_network_link(const BackendContext& context, LinkId id) {
  return std::make_unique<NetworkLink>(context, id);
}

}  // namespace

LinkBackendEntry network_link_backend() {
  return {.name = "network",
          .fits = network_fits,
          .make = make_network_link,
          .mode = Mode::run,
          .issue_depth = [](const Machine&, LinkId) { return chunks_under_way_max; }};
}

}  // namespace troupe
