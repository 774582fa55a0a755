// The records of shares as messages between nodes.
#pragma once

#include "actors/nodes/flat_bytes.hpp"
#include "core/plan/share.hpp"

#include <cstdint>

#include <caf/meta/type_name.hpp>

namespace troupe {

// What actors have recorded in a share so far.
class ShareRecords {
 public:
  ShareRecords() = default;
  // Call from the thread of the share's actor, or with a share that no actor works on.
  // `offset` is added to all times: what this process's clock is behind the reader's.
  explicit ShareRecords(const Share& share, Duration offset = {});

  // Throws a run Error if the bytes are not those of records.
  std::uint32_t window() const;
  // `share` must be another copy of the same share. Another thread may read it meanwhile through
  // SentShare; items that have finished there already stay as they are. If several records of a
  // share are written, then in the order in which they were made. Throws a run Error, and writes
  // nothing, if the bytes are not those of records, or if they don't fit the share.
  void write_to(Share& share) const;

 private:
  template <class Inspector>
  friend auto inspect(Inspector& f, ShareRecords& records) {
    return f(caf::meta::type_name("troupe::ShareRecords"), records.bytes_);
  }

  FlatBytes bytes_;
};

}  // namespace troupe
