// The behaviour of a link: which chunk of which transfer moves next in each direction.
#pragma once

#include "core/machine/machine.hpp"
#include "core/run/lookahead.hpp"
#include "core/run/share_progress.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

namespace troupe {

// Each direction has a queue of transfers in the order in which they became ready. FIFO: the oldest
// transfer that has a chunk to move is next. Fair: transfers take turns, chunk by chunk. One whose
// chunks are a half of the link's or smaller, as its route wants, moves as many of them in its turn
// as fit into one of the link's; fewer in the turn after one that it lost while it waited for them.
//
// A link may have several chunks of each direction under way, each in a slot of its own. Slots 0 …
// depth - 1 are those of the first direction. Else a direction is a slot.
class LinkLogic {
 public:
  struct Start {
    std::uint32_t slot;
    Direction direction;
    std::uint32_t item;
    ActiveShare* part;
    std::uint64_t offset;
    std::uint64_t bytes;
    bool first;
    bool last;
    Duration expected;  // by the cost model; the first chunk carries the latency
    Instant since{};    // when the chunk began: on_started()
    bool is_issued = false;
    // The memory that complete() will read first: set by the actor that carries out the chunk.
    CompletionPath path = {};
  };

  // `turn_bytes`: the size of the link's own chunks. 0: each turn is one chunk.
  LinkLogic(ResourceId self, Sharing sharing, IssueAhead ahead = {}, std::uint64_t turn_bytes = 0);

  void on_share(Share share);
  void on_notice(std::uint32_t window, std::span<const std::uint32_t> items);
  // When the item has finished, notices() gets an entry for it without a resource: at once if it
  // has. Its share must have come.
  void on_watch(std::uint32_t window, std::uint32_t item) {
    progress_.add_late(window, item,
                       WindowItem{.window = window, .ref = {.resource = {}, .item = item}},
                       Sink{*this});
  }
  // The chunk that next() has put on `slot` begins to move.
  void on_started(std::uint32_t slot, Instant now);
  // The chunk on `slot` was issued: it will move when what it depends on is done.
  void on_issued(std::uint32_t slot);
  // The chunk under way on `slot` has arrived.
  void on_finished(std::uint32_t slot, Instant end);
  void on_failed(std::uint32_t slot);
  void on_stop() { stopped_ = true; }

  // Takes the next chunk that can move and its slot. Returns null if no chunk can move. The result
  // stays valid, as under_way(slot), until the chunk has finished.
  Start* next();
  const Start& under_way(std::uint32_t slot) const { return slots_[slot].start; }
  bool is_busy(std::uint32_t slot) const { return slots_[slot].is_busy; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(slots_.size()); }

  // Items of other actors to notify, in the order they were released. The caller must clear the
  // list.
  std::vector<WindowItem>& notices() { return notices_; }
  // Whether more notices are likely soon. Always false: links send notices at the end of each
  // round, since most chunks take longer than a message.
  bool expects_more_notices() const { return false; }
  bool is_idle() const { return busy_slots() == 0; }
  std::uint32_t busy_slots() const { return queues_[0].under_way + queues_[1].under_way; }
  ShareProgress& progress() { return progress_; }
  const ShareProgress& progress() const { return progress_; }
  void check_invariants() const;

 private:
  // Receives events of ShareProgress.
  struct Sink {
    LinkLogic& logic;
    void ready(ActiveShare& part, std::uint32_t item) {
      const Share::Move& move = part.share.move(item);
      part.share.chunks[item].here = move.paced ? 1 : move.chunks;
      logic.join_queue({&part, item});
    }
    void chunk(ActiveShare& part, std::uint32_t item) { logic.add_chunk({&part, item}); }
    void notice(const WindowItem& to) { logic.notices_.push_back(to); }
  };
  struct Waiting {
    ActiveShare* part;
    std::uint32_t item;
    const Share::Move& move() const { return part->share.move(item); }
    Share::Chunks& chunks() const { return part->share.chunks[item]; }
    bool is_movable() const { return chunks().begun < chunks().here; }
    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  struct Turn {
    std::uint64_t number;
    Waiting transfer;
    friend bool operator>(const Turn& a, const Turn& b) { return a.number > b.number; }
  };
  // Turns of transfers that have a chunk to move. Others may be thousands, on a link that is faster
  // than the one before; on a fair link, so is one whose chunk is under way.
  struct Queue {
    std::deque<Turn> fresh;      // in ascending order: had a chunk to move ever since
    std::vector<Turn> returned;  // a heap: had none for a while, and keep the turns they had
    std::uint64_t next_turn = 0;
    std::uint32_t under_way = 0;  // chunks
    Instant latest_end{};

    bool is_returned_first() const {
      return !returned.empty() && (fresh.empty() || fresh.front() > returned.front());
    }
    const Turn& first() const { return is_returned_first() ? returned.front() : fresh.front(); }
    void pop_first();
  };
  static constexpr std::uint64_t no_turn = std::numeric_limits<std::uint64_t>::max();
  struct Slot {
    bool is_busy = false;
    Start start{};           // the chunk under way
    std::uint64_t turn = 0;  // in which it was begun
    Waiting current() const { return {start.part, start.item}; }
  };

  Queue& queue(Direction direction) { return queues_[static_cast<std::size_t>(direction)]; }
  std::uint32_t depth() const { return progress_.ahead().depth; }
  // Gives the transfer the last turn.
  void join_queue(Waiting transfer);
  // On a fair link: the transfer, which has begun a chunk in this turn, may move one more in it.
  bool stays(Waiting transfer) const;
  // Gives it the same turn again, or the last one.
  void go_on(Waiting transfer, std::uint64_t turn);
  // A chunk has arrived that the transfer may move.
  void add_chunk(Waiting transfer);
  // The transfer has no chunk to move: it has this turn when the next one arrives.
  static void keep_turn(Waiting transfer, std::uint64_t turn);
  // The transfer whose turn it was has begun a chunk.
  void end_turn(Queue& q, Turn turn);
  // The chunk will move by itself: its transfer goes to the end, unless its turn goes on.
  void pass_on(const Slot& slot);
  void leave_queue(Direction direction, Waiting transfer);
  // If the item that waits for this chunk learns at its issue (else when it has arrived), and this
  // is that moment, notifies it.
  void pace(const Start& chunk, bool at_issue);
  Start* next_on(Direction direction);

  Sharing sharing_;
  std::uint64_t turn_bytes_;
  ShareProgress progress_;
  Queue queues_[2];  // by Direction
  std::vector<Slot> slots_;
  std::vector<WindowItem> notices_;
  bool stopped_ = false;
};

}  // namespace troupe
