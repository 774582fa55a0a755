// The behaviour of a link: which transfer, or which part of one, moves next in each direction.
#pragma once

#include "core/machine/machine.hpp"
#include "core/run/share_progress.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

// One queue per direction (a lane), in the order transfers became ready. FIFO: the oldest transfer
// that has a chunk to move goes on; fair: they take turns, chunk by chunk.
class LinkLogic {
 public:
  struct Start {
    std::uint32_t lane;  // a Direction
    std::uint32_t item;
    std::uint64_t offset;
    std::uint64_t bytes;
    bool first;
    bool last;
    Duration expected;  // by the cost model; the first chunk carries the latency
  };

  LinkLogic(ResourceId self, Sharing sharing, Duration latency);

  void on_share(Share share);
  void on_notice(std::uint32_t window, std::span<const std::uint32_t> items);
  // The chunk under way on `lane` has arrived.
  void on_finished(std::uint32_t lane, Instant start, Instant end);
  void on_failed(std::uint32_t lane);
  void on_stop() { stopped_ = true; }

  // The next chunk to start, its lane taken; null while nothing can move. It stays what is under
  // way on its lane until that has finished.
  const Start* next();
  const Start& under_way(std::uint32_t lane) const { return lanes_[lane].start; }

  // Items of other actors to notify, in the order they were released; the caller empties it.
  std::vector<ItemRef>& notices() { return notices_; }
  bool is_idle() const { return !lanes_[0].current && !lanes_[1].current; }
  std::uint32_t busy_lanes() const {
    return (lanes_[0].current ? 1U : 0U) + (lanes_[1].current ? 1U : 0U);
  }
  ShareProgress& progress() { return progress_; }
  const ShareProgress& progress() const { return progress_; }
  void check_invariants() const;

 private:
  struct Lane {
    std::deque<std::uint32_t> queue;       // all that have begun or may, in turn
    std::optional<std::uint32_t> current;  // one of the queue
    Start start{};                         // of the current one
  };
  struct Chunks {
    std::uint32_t here = 0;   // may move
    std::uint32_t moved = 0;  // have moved
  };

  void queue_released();
  static void leave_queue(Lane& lane);  // the current one does
  const Start* next_on(std::uint32_t lane);

  ResourceId self_;
  Sharing sharing_;
  Duration latency_;
  ShareProgress progress_;
  std::vector<Chunks> chunks_;           // by item
  std::vector<std::uint32_t> released_;  // became ready
  std::vector<std::uint32_t> arrived_;   // one more chunk each
  Lane lanes_[2];
  std::vector<ItemRef> notices_;
  bool stopped_ = false;
};

}  // namespace troupe
