// The behaviour of a link: which transfer, or which part of one, moves next in each direction.
#pragma once

#include "core/machine/machine.hpp"
#include "core/run/share_progress.hpp"

#include <cstdint>
#include <deque>
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
    ActiveShare* part;
    std::uint64_t offset;
    std::uint64_t bytes;
    bool first;
    bool last;
    Duration expected;  // by the cost model; the first chunk carries the latency
    // For whoever carries it out, to keep: when that began, and what will be looked at when it
    // ends.
    Instant since{};
    CompletionPath path = {};
  };

  LinkLogic(ResourceId self, Sharing sharing);

  void on_share(Share share);
  void on_notice(std::uint32_t window, std::span<const std::uint32_t> items);
  // The chunk under way on `lane` has arrived.
  void on_finished(std::uint32_t lane, Instant start, Instant end);
  void on_failed(std::uint32_t lane);
  void on_stop() { stopped_ = true; }

  // The next chunk to start, its lane taken; null while nothing can move. It stays what is under
  // way on its lane until that has finished.
  Start* next();
  const Start& under_way(std::uint32_t lane) const { return lanes_[lane].start; }

  // Items of other actors to notify, in the order they were released; the caller empties it.
  std::vector<WindowItem>& notices() { return notices_; }
  // Whether more of them are to be expected soon. Links tell at the end of each round: most chunks
  // take longer than a message.
  bool expects_more_notices() const { return false; }
  bool is_idle() const { return !lanes_[0].is_busy && !lanes_[1].is_busy; }
  std::uint32_t busy_lanes() const {
    return (lanes_[0].is_busy ? 1U : 0U) + (lanes_[1].is_busy ? 1U : 0U);
  }
  ShareProgress& progress() { return progress_; }
  const ShareProgress& progress() const { return progress_; }
  void check_invariants() const;

 private:
  // Of ShareProgress.
  struct Sink {
    LinkLogic& logic;
    void ready(ActiveShare& part, std::uint32_t item) {
      Share::Move& move = part.share.moves[item];
      move.chunks_here = move.paced ? 1 : move.chunks;
      logic.lanes_[static_cast<int>(move.direction)].queue.push_back({&part, item});
    }
    void chunk(ActiveShare& part, std::uint32_t item) { ++part.share.moves[item].chunks_here; }
    void notice(const WindowItem& to) { logic.notices_.push_back(to); }
  };
  struct Waiting {
    ActiveShare* part;
    std::uint32_t item;
    Share::Move& move() const { return part->share.moves[item]; }
    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  struct Lane {
    std::deque<Waiting> queue;  // all that have begun or may, in turn
    bool is_busy = false;
    Start start{};  // of what is under way, one of the queue
    Waiting current() const { return {start.part, start.item}; }
  };

  static void leave_queue(Lane& lane);  // the current one does
  Start* next_on(std::uint32_t lane);

  Sharing sharing_;
  ShareProgress progress_;
  Lane lanes_[2];
  std::vector<WindowItem> notices_;
  bool stopped_ = false;
};

}  // namespace troupe
