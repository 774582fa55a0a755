// The bytes of ShareRecords: RecordsHead, an array of ItemRecords, and, of a link, an array of as
// many ChunksRecords.
#include "actors/nodes/share_records.hpp"

#include "core/run/records.hpp"

#include <cstddef>
#include <span>
#include <utility>

namespace troupe {
namespace {

struct RecordsHead {
  std::uint32_t window;
  std::uint32_t is_transfer;
};

struct ItemRecord {
  std::uint32_t item;
  std::uint32_t track;
  Instant start;
  Instant end;
};

struct ChunksRecord {
  Duration busy;
  std::uint32_t shortest_ns;
  std::uint16_t here;
  std::uint16_t moved;
};

// Of a transfer that waits for more, chunks may have arrived.
bool has_record(const Share& share, std::uint32_t item) {
  return share.items[item].start != Share::never || share.items[item].finished() ||
         (share.is_transfer() && share.chunks[item].here > 0);
}

Instant moved(Instant time, Duration offset) {
  return time == Share::never ? time : time + offset;
}

template <class F>
void for_each_recorded(const Share& share, const F& f) {
  for (std::uint32_t i = 0; i < share.size(); ++i) {
    if (has_record(share, i)) f(i);
  }
}

void check_records(std::span<const ItemRecord> items, std::span<const ChunksRecord> chunks,
                   const Share& share) {
  check_message(chunks.size() == (share.is_transfer() ? items.size() : 0));
  std::uint64_t next = 0;
  for (const ItemRecord& record : items) {
    check_message(record.item >= next && record.item < share.size());
    next = std::uint64_t{record.item} + 1;
  }
}

void write_chunks(const ChunksRecord& record, Share::Chunks& chunks) {
  chunks.busy = record.busy;
  chunks.shortest_ns = record.shortest_ns;
  chunks.here = record.here;
  chunks.moved = record.moved;
}

// Items without a record may have failed since the last records, in which they were under way.
void forget_starts(Share& share, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t i = begin; i < end; ++i) {
    Share::Item& item = share.items[i];
    if (item.start != Share::never && !item.finished()) record_start(item, Share::never);
  }
}

}  // namespace

ShareRecords::ShareRecords(const Share& share, Duration offset) {
  FlatWriter writer;
  writer.reserve(share.size() * sizeof(ItemRecord) + share.chunks.size() * sizeof(ChunksRecord) +
                 64);
  writer.put(RecordsHead{.window = share.window, .is_transfer = share.is_transfer() ? 1U : 0U});
  writer.put_each<ItemRecord>(share.size(), [&](const auto& add) {
    for_each_recorded(share, [&](std::uint32_t i) {
      const Share::Item& item = share.items[i];
      add({.item = i,
           .track = item.track,
           .start = moved(item.start, offset),
           .end = moved(item.end, offset)});
    });
  });
  writer.put_each<ChunksRecord>(share.chunks.size(), [&](const auto& add) {
    if (!share.is_transfer()) return;
    for_each_recorded(share, [&](std::uint32_t i) {
      const Share::Chunks& chunks = share.chunks[i];
      add({.busy = chunks.busy,
           .shortest_ns = chunks.shortest_ns,
           .here = chunks.here,
           .moved = chunks.moved});
    });
  });
  bytes_ = std::move(writer).take();
}

std::uint32_t ShareRecords::window() const {
  return FlatReader(bytes_).get<RecordsHead>().window;
}

void ShareRecords::write_to(Share& share) const {
  FlatReader reader(bytes_);
  const RecordsHead head = reader.get<RecordsHead>();
  const std::span<const ItemRecord> items = reader.get_array<ItemRecord>();
  const std::span<const ChunksRecord> chunks = reader.get_array<ChunksRecord>();
  reader.end();
  check_message(head.window == share.window && (head.is_transfer != 0) == share.is_transfer());
  check_records(items, chunks, share);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    forget_starts(share, next, items[i].item);
    next = items[i].item + 1;
    Share::Item& item = share.items[items[i].item];
    if (item.finished()) continue;
    if (share.is_transfer()) write_chunks(chunks[i], share.chunks[items[i].item]);
    item.track = static_cast<std::uint16_t>(items[i].track);
    record_start(item, items[i].start);
    if (items[i].end != Share::never) record_end(item, items[i].end);
  }
  forget_starts(share, next, share.size());
}

}  // namespace troupe
