// The ends of chunks that are under way together.
#pragma once

#include "core/backend/backend.hpp"

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

namespace troupe {

// Reports the ends of the chunks of one direction of a link in the order in which they began. A
// wire may end chunks when the link is gone, so both share this. Thread-safe.
class OrderedEnds final : public Completions {
 public:
  explicit OrderedEnds(Completions& completions) : completions_(&completions) {}

  // A chunk begins in this slot, whose last chunk has ended.
  void begin(std::uint32_t slot);
  // The chunk that began last has ended, and the link is told so. It is pending all the same where
  // earlier ones are under way, or the link may not know of their ends yet.
  Started end_at_once();
  // The chunk that began last hasn't.
  void take_back();

  void completed(std::uint32_t slot) override { ended(slot, {}); }
  void failed(std::uint32_t slot, std::string cause) override;

  // The link is gone: nothing is reported any more.
  void leave();

 private:
  struct Chunk {
    std::uint32_t slot = 0;
    bool has_ended = false;
    std::string failure = {};
  };

  void ended(std::uint32_t slot, std::string failure);
  void report();

  std::mutex mutex_;
  std::deque<Chunk> under_way_;
  std::deque<std::uint32_t> reported_;  // slots whose ends the link may not know of
  Completions* completions_;
};

}  // namespace troupe
