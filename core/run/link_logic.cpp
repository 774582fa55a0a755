#include "core/run/link_logic.hpp"

#include "core/base/assert.hpp"
#include "core/run/records.hpp"

#include <algorithm>

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

LinkLogic::LinkLogic(ResourceId self, Sharing sharing) : sharing_(sharing), progress_(self) {}

void LinkLogic::on_share(Share share) {
  progress_.load(std::move(share), Sink{*this});
}

void LinkLogic::on_notice(std::uint32_t window, std::span<const std::uint32_t> items) {
  for (const std::uint32_t item : items) progress_.notify(window, item, Sink{*this});
}

void LinkLogic::on_started(std::uint32_t lane, Instant now) {
  Start& start = lanes_[lane].start;
  start.since = now;
  if (start.first) record_start(start.part->share.items[start.item], now);
}

void LinkLogic::on_finished(std::uint32_t lane, Instant end) {
  TROUPE_ASSERT(lanes_[lane].is_busy);
  const Waiting current = lanes_[lane].current();
  Share& share = current.part->share;
  Share::Item& item = share.items[current.item];
  Share::Move& move = current.move();
  item.lane = static_cast<std::uint16_t>(lane);
  const Duration took = end - lanes_[lane].start.since;
  move.busy += took;
  move.shortest_chunk_ns =
      static_cast<std::uint32_t>(std::min<std::int64_t>(move.shortest_chunk_ns, took.count()));
  const bool is_done = ++move.chunks_moved == move.chunks;
  if (is_done || sharing_ == Sharing::fair) leave_queue(lanes_[lane]);
  lanes_[lane].is_busy = false;
  if (move.paces) {
    const Share::Successor next = share.successors_of(current.item)[0];
    notices_.push_back({share.window, share.elsewhere[next.place()]});
  }
  if (is_done) {
    record_end(item, end);
    progress_.complete(*current.part, current.item, move.paces, Sink{*this});
  } else if (sharing_ == Sharing::fair) {
    lanes_[lane].queue.push_back(current);
  }
}

void LinkLogic::on_failed(std::uint32_t lane) {
  TROUPE_ASSERT(lanes_[lane].is_busy);
  const Waiting failed = lanes_[lane].current();
  record_start(failed.part->share.items[failed.item], Share::never);
  leave_queue(lanes_[lane]);
  lanes_[lane].is_busy = false;
}

void LinkLogic::leave_queue(Lane& lane) {
  lane.queue.erase(std::find(lane.queue.begin(), lane.queue.end(), lane.current()));
}

LinkLogic::Start* LinkLogic::next() {
  if (stopped_) return nullptr;
  Start* const start = next_on(0);
  return start != nullptr ? start : next_on(1);
}

LinkLogic::Start* LinkLogic::next_on(std::uint32_t lane) {
  Lane& l = lanes_[lane];
  if (l.is_busy) return nullptr;
  const auto movable = std::find_if(l.queue.begin(), l.queue.end(), [](const Waiting& w) {
    return w.move().chunks_moved < w.move().chunks_here;
  });
  if (movable == l.queue.end()) return nullptr;
  l.is_busy = true;
  const Share::Move& move = movable->move();
  const std::uint32_t i = move.chunks_moved;
  const std::uint64_t begin = chunk_offset(move, i);
  const std::uint64_t end = chunk_offset(move, i + 1);
  l.start = Start{.lane = lane,
                  .item = movable->item,
                  .part = movable->part,
                  .offset = begin,
                  .bytes = end - begin,
                  .first = i == 0,
                  .last = i + 1 == move.chunks,
                  .expected = move.expected.chunk(i, move.chunks)};
  return &l.start;
}

void LinkLogic::check_invariants() const {
  progress_.check_invariants();
  for (const auto& part : progress_.parts()) {
    for (const Share::Move& move : part->share.moves) {
      TROUPE_ASSERT(move.chunks_moved <= move.chunks_here && move.chunks_here <= move.chunks);
    }
  }
  for (const Lane& lane : lanes_) {
    for (const Waiting& w : lane.queue) {
      TROUPE_ASSERT(w.part->share.items[w.item].waits_for == 0);
      TROUPE_ASSERT(w.move().chunks_moved < w.move().chunks);
      TROUPE_ASSERT(std::count(lane.queue.begin(), lane.queue.end(), w) == 1);
    }
    if (!lane.is_busy) continue;
    TROUPE_ASSERT(std::count(lane.queue.begin(), lane.queue.end(), lane.current()) == 1);
    TROUPE_ASSERT(lane.current().move().chunks_moved < lane.current().move().chunks_here);
  }
}

}  // namespace troupe
