#include "core/run/link_logic.hpp"

#include "core/base/assert.hpp"
#include "core/run/records.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

namespace troupe {
namespace {

// The offset of chunk `i`. Chunks have equal sizes of whole pages, as direct I/O requires. The last
// chunk takes the rest.
std::uint64_t chunk_offset(const Share::Move& move, std::uint32_t i) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t even = (move.bytes + move.chunks - 1) / move.chunks;
  const std::uint64_t whole = (even + page - 1) / page * page;
  return std::min<std::uint64_t>(move.bytes, whole * i);
}

}  // namespace

LinkLogic::LinkLogic(ResourceId self, Sharing sharing, IssueAhead ahead, std::uint64_t turn_bytes)
    : sharing_(sharing),
      turn_bytes_(turn_bytes),
      progress_(self, std::move(ahead)),
      slots_(std::size_t{2} * depth()) {}

void LinkLogic::on_share(Share share) {
  progress_.load(std::move(share), Sink{*this});
}

void LinkLogic::on_notice(std::uint32_t window, std::span<const std::uint32_t> items) {
  for (const std::uint32_t item : items) progress_.notify(window, item, Sink{*this});
}

void LinkLogic::on_started(std::uint32_t slot, Instant now) {
  Start& start = slots_[slot].start;
  start.since = now;
  if (start.first) record_start(start.part->share.items[start.item], now);
}

void LinkLogic::on_issued(std::uint32_t slot) {
  Start& chunk = slots_[slot].start;
  chunk.is_issued = true;
  pass_on(slots_[slot]);
  pace(chunk, true);
  if (chunk.last) {
    const bool paces = chunk.part->share.move(chunk.item).paces;
    progress_.issue(*chunk.part, chunk.item, paces, Sink{*this});
  }
}

void LinkLogic::on_finished(std::uint32_t slot, Instant end) {
  TROUPE_ASSERT(slots_[slot].is_busy);
  const Start chunk = slots_[slot].start;
  Share& share = chunk.part->share;
  Share::Item& item = share.items[chunk.item];
  const Share::Move& move = share.move(chunk.item);
  Share::Chunks& chunks = share.chunks[chunk.item];
  item.track = static_cast<std::uint16_t>(chunk.direction);
  Queue& q = queue(chunk.direction);
  Instant since = chunk.since;
  if (!progress_.ahead().is_on()) {
    // A chunk that was begun early moves once the one before it has arrived.
    since = std::min(std::max(since, q.latest_end), end);
    q.latest_end = std::max(q.latest_end, end);
    if (chunk.first && item.start != Share::never) record_start(item, since);
  }
  const Duration took = end - since;
  chunks.busy += took;
  chunks.shortest_ns =
      static_cast<std::uint32_t>(std::min<std::int64_t>(chunks.shortest_ns, took.count()));
  const bool is_done = ++chunks.moved == move.chunks;
  slots_[slot].is_busy = false;
  --q.under_way;
  pace(chunk, false);
  if (is_done) {
    record_end(item, end);
    if (chunk.is_issued) {
      progress_.complete_issued(*chunk.part, chunk.item, move.paces, Sink{*this});
    } else {
      progress_.complete(*chunk.part, chunk.item, move.paces, Sink{*this});
    }
  } else if (!chunk.is_issued && sharing_ == Sharing::fair && depth() == 1) {
    go_on({chunk.part, chunk.item}, slots_[slot].turn);
  }
}

void LinkLogic::on_failed(std::uint32_t slot) {
  TROUPE_ASSERT(slots_[slot].is_busy);
  const Start& failed = slots_[slot].start;
  record_start(failed.part->share.items[failed.item], Share::never);
  leave_queue(failed.direction, {failed.part, failed.item});
  slots_[slot].is_busy = false;
  --queue(failed.direction).under_way;
}

void LinkLogic::Queue::pop_first() {
  if (!is_returned_first()) return fresh.pop_front();
  std::pop_heap(returned.begin(), returned.end(), std::greater<>());
  returned.pop_back();
}

void LinkLogic::join_queue(Waiting transfer) {
  Queue& q = queue(transfer.move().direction);
  const std::uint64_t turn = q.next_turn++;
  if (transfer.is_movable()) {
    q.fresh.push_back({turn, transfer});
  } else {
    keep_turn(transfer, turn);
  }
}

bool LinkLogic::stays(Waiting transfer) const {
  if (!transfer.is_movable()) return false;
  const Share::Move& move = transfer.move();
  if (move.chunks == 1 || turn_bytes_ == 0) return false;
  const std::uint64_t chunks_in_turn = turn_bytes_ / chunk_offset(move, 1);
  return chunks_in_turn > 1 && transfer.chunks().begun % chunks_in_turn != 0;
}

void LinkLogic::go_on(Waiting transfer, std::uint64_t turn) {
  if (!stays(transfer)) return join_queue(transfer);
  std::vector<Turn>& returned = queue(transfer.move().direction).returned;
  returned.push_back({turn, transfer});
  std::push_heap(returned.begin(), returned.end(), std::greater<>());
}

void LinkLogic::add_chunk(Waiting transfer) {
  const bool was_movable = transfer.is_movable();
  ++transfer.chunks().here;
  if (was_movable || transfer.part->turns[transfer.item] == no_turn) return;
  std::vector<Turn>& returned = queue(transfer.move().direction).returned;
  returned.push_back({transfer.part->turns[transfer.item], transfer});
  std::push_heap(returned.begin(), returned.end(), std::greater<>());
}

void LinkLogic::keep_turn(Waiting transfer, std::uint64_t turn) {
  if (!transfer.move().paced) return;
  std::vector<std::uint64_t>& turns = transfer.part->turns;
  if (turns.empty()) turns.resize(transfer.part->share.size(), no_turn);
  turns[transfer.item] = turn;
}

// On a FIFO link a transfer keeps its turn. On a fair one it gets another: with one slot when the
// chunk has arrived, or was issued.
void LinkLogic::end_turn(Queue& q, Turn turn) {
  if (sharing_ == Sharing::fifo && turn.transfer.is_movable()) return;
  q.pop_first();
  if (sharing_ == Sharing::fair && depth() > 1) return go_on(turn.transfer, turn.number);
  keep_turn(turn.transfer, sharing_ == Sharing::fifo ? turn.number : no_turn);
}

void LinkLogic::pass_on(const Slot& slot) {
  const Start& chunk = slot.start;
  if (chunk.last || sharing_ == Sharing::fifo) return;
  if (depth() > 1) leave_queue(chunk.direction, slot.current());
  go_on(slot.current(), slot.turn);
}

// Seldom far from the end: its turn was one of the last, unless it goes on.
void LinkLogic::leave_queue(Direction direction, Waiting transfer) {
  keep_turn(transfer, no_turn);
  if (!transfer.is_movable()) return;
  Queue& q = queue(direction);
  const auto is_its = [&](const Turn& turn) { return turn.transfer == transfer; };
  const auto leave_returned = [&] {
    if (std::erase_if(q.returned, is_its) == 0) return false;
    std::make_heap(q.returned.begin(), q.returned.end(), std::greater<>());
    return true;
  };
  if (stays(transfer) && leave_returned()) return;
  const auto found = std::find_if(q.fresh.rbegin(), q.fresh.rend(), is_its);
  if (found != q.fresh.rend()) {
    q.fresh.erase(std::next(found).base());
  } else {
    leave_returned();
  }
}

void LinkLogic::pace(const Start& chunk, bool at_issue) {
  const Share& share = chunk.part->share;
  if (!share.move(chunk.item).paces) return;
  const Share::Successor next = share.successors_of(chunk.item)[0];
  const bool tells_at_issue = chunk.is_issued && progress_.tells_at_issue(share, next);
  if (tells_at_issue == at_issue) {
    notices_.push_back({share.window, share.elsewhere[next.place()]});
  }
}

LinkLogic::Start* LinkLogic::next() {
  if (stopped_) return nullptr;
  Start* const start = next_on(Direction::forward);
  return start != nullptr ? start : next_on(Direction::backward);
}

LinkLogic::Start* LinkLogic::next_on(Direction direction) {
  Queue& q = queue(direction);
  if (q.under_way == depth() || (q.fresh.empty() && q.returned.empty())) return nullptr;
  const Turn turn = q.first();
  std::uint32_t free = static_cast<std::uint32_t>(direction) * depth();
  while (slots_[free].is_busy) ++free;
  Slot& slot = slots_[free];
  slot.is_busy = true;
  slot.turn = turn.number;
  ++q.under_way;
  const Share::Move& move = turn.transfer.move();
  const std::uint32_t i = turn.transfer.chunks().begun++;
  const std::uint64_t begin = chunk_offset(move, i);
  const std::uint64_t end = chunk_offset(move, i + 1);
  slot.start = Start{.slot = free,
                     .direction = direction,
                     .item = turn.transfer.item,
                     .part = turn.transfer.part,
                     .offset = begin,
                     .bytes = end - begin,
                     .first = i == 0,
                     .last = i + 1 == move.chunks,
                     .expected = move.expected.chunk(i, move.chunks)};
  end_turn(q, turn);
  return &slot.start;
}

void LinkLogic::check_invariants() const {
  progress_.check_invariants();
  for (const auto& part : progress_.parts()) {
    const Share& share = part->share;
    for (std::uint32_t i = 0; i < share.size(); ++i) {
      const Share::Chunks& chunks = share.chunks[i];
      TROUPE_ASSERT(chunks.moved <= chunks.begun && chunks.begun <= chunks.here);
      TROUPE_ASSERT(chunks.here <= share.move(i).chunks);
    }
  }
  std::uint32_t busy = 0;
  for (const Slot& slot : slots_) busy += slot.is_busy ? 1 : 0;
  TROUPE_ASSERT(busy == busy_slots());
  for (const Queue& q : queues_) {
    std::vector<Turn> turns(q.fresh.begin(), q.fresh.end());
    TROUPE_ASSERT(std::is_sorted(turns.rbegin(), turns.rend(), std::greater<>()));
    TROUPE_ASSERT(std::is_heap(q.returned.begin(), q.returned.end(), std::greater<>()));
    turns.insert(turns.end(), q.returned.begin(), q.returned.end());
    for (const Turn& turn : turns) {
      const Waiting& w = turn.transfer;
      TROUPE_ASSERT(w.part->share.items[w.item].waits_for == 0);
      TROUPE_ASSERT(w.is_movable());
      TROUPE_ASSERT(std::count_if(turns.begin(), turns.end(), [&](const Turn& other) {
                      return other.transfer == w || other.number == turn.number;
                    }) == 1);
    }
  }
  for (const Slot& slot : slots_) {
    if (!slot.is_busy || slot.start.is_issued) continue;
    const Share::Chunks& chunks = slot.current().chunks();
    TROUPE_ASSERT(chunks.moved < chunks.begun);
  }
}

}  // namespace troupe
