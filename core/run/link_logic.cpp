#include "core/run/link_logic.hpp"

#include "core/base/assert.hpp"

#include <algorithm>

namespace troupe {
namespace {

// Where chunk `i` begins: chunks are equal and whole pages, which direct I/O needs; the last one
// takes what is left.
std::uint64_t chunk_offset(const Share::Move& move, std::uint32_t i) {
  constexpr std::uint64_t page = 4096;
  const std::uint64_t even = (move.bytes + move.chunks - 1) / move.chunks;
  const std::uint64_t whole = (even + page - 1) / page * page;
  return std::min<std::uint64_t>(move.bytes, whole * i);
}

}  // namespace

LinkLogic::LinkLogic(ResourceId self, Sharing sharing, Duration latency)
    : self_(self), sharing_(sharing), latency_(latency) {}

void LinkLogic::on_share(Share share) {
  TROUPE_ASSERT(is_idle() && lanes_[0].queue.empty() && lanes_[1].queue.empty());
  chunks_.assign(share.size(), Chunks{});
  progress_.load(std::move(share), released_, arrived_);
  queue_released();
}

void LinkLogic::on_notice(std::uint32_t window, std::span<const std::uint32_t> items) {
  for (const std::uint32_t item : items) progress_.notify(window, item, released_, arrived_);
  queue_released();
}

void LinkLogic::on_finished(std::uint32_t lane, Instant start, Instant end) {
  TROUPE_ASSERT(lanes_[lane].current.has_value());
  const std::uint32_t item = *lanes_[lane].current;
  const Share::Move& move = progress_.share().moves[item];
  Record& record = progress_.record(item);
  if (chunks_[item].moved == 0) record.start = start;
  record.busy += end - start;
  record.lane = lane;
  record.shortest_chunk_ns = static_cast<std::uint32_t>(
      std::min<std::int64_t>(record.shortest_chunk_ns, (end - start).count()));
  const bool is_done = ++chunks_[item].moved == move.chunks;
  if (is_done || sharing_ == Sharing::fair) leave_queue(lanes_[lane]);
  lanes_[lane].current.reset();
  if (move.paces) notices_.push_back(progress_.share().successors_of(item)[0]);
  if (is_done) {
    record.end = end;
    progress_.complete(item, self_, move.paces, released_, notices_);
    queue_released();
  } else if (sharing_ == Sharing::fair) {
    lanes_[lane].queue.push_back(item);
  }
}

void LinkLogic::on_failed(std::uint32_t lane) {
  TROUPE_ASSERT(lanes_[lane].current.has_value());
  leave_queue(lanes_[lane]);
  lanes_[lane].current.reset();
}

void LinkLogic::leave_queue(Lane& lane) {
  lane.queue.erase(std::find(lane.queue.begin(), lane.queue.end(), *lane.current));
}

const LinkLogic::Start* LinkLogic::next() {
  if (stopped_) return nullptr;
  const Start* const start = next_on(0);
  return start != nullptr ? start : next_on(1);
}

const LinkLogic::Start* LinkLogic::next_on(std::uint32_t lane) {
  Lane& l = lanes_[lane];
  if (l.current) return nullptr;
  const auto movable = std::find_if(l.queue.begin(), l.queue.end(), [this](std::uint32_t item) {
    return chunks_[item].moved < chunks_[item].here;
  });
  if (movable == l.queue.end()) return nullptr;
  const std::uint32_t item = *movable;
  l.current = item;
  const Share::Move& move = progress_.share().moves[item];
  const std::uint32_t i = chunks_[item].moved;
  const std::uint64_t begin = chunk_offset(move, i);
  const std::uint64_t end = chunk_offset(move, i + 1);
  const std::int64_t wire_ns = progress_.share().expected[item].count();
  // wire_ns * chunks / move.chunks, without the product's overflow.
  const auto share_of_wire = [&](std::uint32_t chunks) {
    return wire_ns / move.chunks * chunks + wire_ns % move.chunks * chunks / move.chunks;
  };
  l.start = Start{.lane = lane,
                  .item = item,
                  .offset = begin,
                  .bytes = end - begin,
                  .first = i == 0,
                  .last = i + 1 == move.chunks,
                  .expected = Duration{share_of_wire(i + 1) - share_of_wire(i)} +
                              (i == 0 && progress_.share().timed ? latency_ : Duration{0})};
  return &l.start;
}

void LinkLogic::queue_released() {
  for (const std::uint32_t item : released_) {
    const Share::Move& move = progress_.share().moves[item];
    chunks_[item].here = move.paced ? 1 : move.chunks;
    lanes_[static_cast<int>(move.direction)].queue.push_back(item);
  }
  for (const std::uint32_t item : arrived_) ++chunks_[item].here;
  released_.clear();
  arrived_.clear();
}

void LinkLogic::check_invariants() const {
  progress_.check_invariants();
  TROUPE_ASSERT(released_.empty() && arrived_.empty());
  for (std::uint32_t item = 0; item < progress_.share().size(); ++item) {
    TROUPE_ASSERT(chunks_[item].moved <= chunks_[item].here);
    TROUPE_ASSERT(chunks_[item].here <= progress_.share().moves[item].chunks);
  }
  for (const Lane& lane : lanes_) {
    for (const std::uint32_t item : lane.queue) {
      TROUPE_ASSERT(progress_.waits_for(item) == 0);
      TROUPE_ASSERT(chunks_[item].moved < progress_.share().moves[item].chunks);
      TROUPE_ASSERT(std::count(lane.queue.begin(), lane.queue.end(), item) == 1);
    }
    if (!lane.current) continue;
    TROUPE_ASSERT(std::count(lane.queue.begin(), lane.queue.end(), *lane.current) == 1);
    TROUPE_ASSERT(chunks_[*lane.current].moved < chunks_[*lane.current].here);
  }
}

}  // namespace troupe
