#include "core/backend/network/network_backend.hpp"

#include "core/backend/network/network_port.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// So many chunks may be under way before the link waits for one: then the wire never runs dry.
constexpr std::uint32_t ahead = 4;
// Smaller tensors are copied, and their transfer has finished: that costs less than to report its
// end from another thread. A node that doesn't get them is lost, which the wire reports.
constexpr std::uint64_t copied_bytes_max = 16 << 10;

Error not_sent(const std::string& failure) {
  return run_error(fmt::format("a tensor could not be sent over the network: {}", failure),
                   "see what has become of the node that was to receive it");
}

// The chunks that a link has given to the wire. Shared with them: they may end when the link is
// gone.
class Sender : public std::enable_shared_from_this<Sender> {
 public:
  Sender(NetworkPort& port, Completions& completions) : port_(port), completions_(&completions) {}

  Started send(std::uint32_t lane, NodeId to, const ChunkMove& move, const std::byte* bytes) {
    const ChunkHeader header{.window = move.next->window,
                             .resource = move.next->resource,
                             .item = move.next->item,
                             .replica = move.to.value,
                             .offset = move.offset,
                             .bytes = move.bytes};
    if (move.first && move.last && move.bytes <= copied_bytes_max) {
      const auto copy = std::make_shared<std::vector<std::byte>>(bytes, bytes + move.bytes);
      port_.send(to, header, copy->data(), [copy](const std::string&) {});
      return {.state = Started::State::finished};
    }
    {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) throw not_sent(failure_);
      ++under_way_[move.to];
      ++all_under_way_;
    }
    port_.send(to, header, bytes,
               [self = shared_from_this(), tensor = move.to](const std::string& failure) {
                 self->ended(tensor, failure);
               });
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) throw not_sent(failure_);
    awaited_ = move.last ? move.to : ReplicaId::none();
    if (has_room()) return {.state = Started::State::finished};
    waits_ = true;
    lane_ = lane;
    return {.state = Started::State::pending};
  }

  // The link is gone.
  void leave() {
    const std::lock_guard lock(mutex_);
    completions_ = nullptr;
  }

 private:
  // Whether the chunk that was sent last has finished, for the link.
  bool has_room() const {
    return awaited_ ? !under_way_.contains(awaited_) : all_under_way_ < ahead;
  }

  void ended(ReplicaId tensor, const std::string& failure) {
    const std::lock_guard lock(mutex_);  // so that the link isn't gone before it is told
    --all_under_way_;
    if (const auto left = under_way_.find(tensor); --left->second == 0) under_way_.erase(left);
    if (failure_.empty()) failure_ = failure;
    if (!waits_ || (failure_.empty() && !has_room())) return;
    waits_ = false;
    if (completions_ == nullptr) return;
    if (failure_.empty()) {
      completions_->completed(lane_);
    } else {
      completions_->failed(lane_, not_sent(failure_).what());
    }
  }

  NetworkPort& port_;
  std::mutex mutex_;
  Completions* completions_;
  std::map<ReplicaId, std::uint64_t> under_way_;  // chunks by tensor
  std::uint32_t all_under_way_ = 0;
  ReplicaId awaited_;  // of which all chunks must have been sent; none: there must be room for more
  bool waits_ = false;
  std::uint32_t lane_ = 0;
  std::string failure_;
};

class NetworkLink final : public LinkBackend {
 public:
  NetworkLink(const BackendContext& context, LinkId id)
      : machine_(context.machine),
        link_(machine_.link(id)),
        store_(context.store),
        port_(*context.network),
        completions_(context.completions),
        sender_(std::make_shared<Sender>(port_, completions_)) {}
  ~NetworkLink() override {
    sender_->leave();
    port_.forget(completions_);
  }

  Started start(Direction direction, const ChunkMove& move) override {
    const auto lane = static_cast<std::uint32_t>(direction);
    if (machine_.memory(link_.target(direction)).kind != MemoryKind::network) {
      return port_.receive(lane, move, store_.data(move.to), completions_);
    }
    const std::byte* const values = store_.data(move.from);
    TROUPE_ASSERT(values != nullptr && move.next);
    const Link& next = machine_.links[move.next->resource - machine_.devices.size()];
    return sender_->send(lane, next.node, move, values + move.offset);
  }

 private:
  const Machine& machine_;
  const Link& link_;
  MemoryStore& store_;
  NetworkPort& port_;
  Completions& completions_;
  const std::shared_ptr<Sender> sender_;
};

// A tensor can go from node to node over one switch: real ones are no concern of Troupe's.
bool network_fits(const Machine& machine, LinkId id) {
  const Link& link = machine.link(id);
  const auto is_switch = [&](MemoryId m) { return machine.memory(m).kind == MemoryKind::network; };
  return (is_switch(link.a) && is_host_ram(machine, link.b)) ||
         (is_switch(link.b) && is_host_ram(machine, link.a));
}

std::unique_ptr<LinkBackend> make_network_link(const BackendContext& context, LinkId id) {
  return std::make_unique<NetworkLink>(context, id);
}

}  // namespace

LinkBackendEntry network_link_backend() {
  return {.name = "network", .fits = network_fits, .make = make_network_link, .mode = Mode::run};
}

}  // namespace troupe
