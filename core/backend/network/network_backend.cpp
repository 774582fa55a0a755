#include "core/backend/network/network_backend.hpp"

#include "core/backend/network/network_port.hpp"
#include "core/base/assert.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

// So many chunks of a direction may be under way: then the wire never runs dry.
constexpr std::uint32_t chunks_under_way_max = 4;
// Smaller tensors are copied, and their transfer has finished: that costs less than to report its
// end from another thread. A node that doesn't get them is lost, which the wire reports.
constexpr std::uint64_t copied_bytes_max = 16 << 10;

Error not_sent(const std::string& failure) {
  return run_error(fmt::format("a tensor could not be sent over the network: {}", failure),
                   "see what has become of the node that was to receive it");
}

// Reports the ends of the chunks of one direction in the order in which they began. Shared with the
// wire: they may end when the link is gone. Thread-safe.
class OrderedEnds final : public Completions {
 public:
  explicit OrderedEnds(Completions& completions) : completions_(&completions) {}

  void begin(std::uint32_t slot) {
    const std::lock_guard lock(mutex_);
    under_way_.push_back({.slot = slot});
    // The link knows of the slot's last end, and of those that were reported before.
    const auto known = std::find(reported_.begin(), reported_.end(), slot);
    if (known != reported_.end()) reported_.erase(reported_.begin(), known + 1);
  }
  // The chunk that began last has ended. It is pending all the same where earlier ones are under
  // way, or the link may not know of their ends yet.
  Started end_at_once() {
    const std::lock_guard lock(mutex_);
    if (under_way_.size() == 1 && reported_.empty()) {
      under_way_.pop_back();
      return {.state = Started::State::finished};
    }
    under_way_.back().has_ended = true;
    report();
    return {.state = Started::State::pending};
  }
  // The chunk that began last hasn't.
  void take_back() {
    const std::lock_guard lock(mutex_);
    under_way_.pop_back();
  }

  void completed(std::uint32_t slot) override { ended(slot, {}); }
  void failed(std::uint32_t slot, std::string cause) override { ended(slot, std::move(cause)); }

  // The link is gone.
  void leave() {
    const std::lock_guard lock(mutex_);
    completions_ = nullptr;
  }

 private:
  struct Chunk {
    std::uint32_t slot = 0;
    bool has_ended = false;
    std::string failure = {};
  };

  void ended(std::uint32_t slot, std::string failure) {
    const std::lock_guard lock(mutex_);  // so that the link isn't gone before it is told
    const auto chunk = std::find_if(under_way_.begin(), under_way_.end(),
                                    [&](const Chunk& c) { return c.slot == slot && !c.has_ended; });
    TROUPE_ASSERT(chunk != under_way_.end());
    chunk->has_ended = true;
    chunk->failure = std::move(failure);
    report();
  }
  void report() {
    for (; !under_way_.empty() && under_way_.front().has_ended; under_way_.pop_front()) {
      Chunk& chunk = under_way_.front();
      reported_.push_back(chunk.slot);
      if (completions_ == nullptr) continue;
      if (chunk.failure.empty()) {
        completions_->completed(chunk.slot);
      } else {
        completions_->failed(chunk.slot, std::move(chunk.failure));
      }
    }
  }

  std::mutex mutex_;
  std::deque<Chunk> under_way_;
  std::deque<std::uint32_t> reported_;  // slots whose ends the link may not know of
  Completions* completions_;
};

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
    const Started started = port_.receive(move, store_.data(move.to), ends);
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
  const auto is_switch = [&](MemoryId m) { return machine.memory(m).kind == MemoryKind::network; };
  return (is_switch(link.a) && is_host_ram(machine, link.b)) ||
         (is_switch(link.b) && is_host_ram(machine, link.a));
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
