#include "core/run/share_progress.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void ShareProgress::load(Share share, std::vector<std::uint32_t>& ready,
                         std::vector<std::uint32_t>& chunks) {
  TROUPE_ASSERT(is_complete());
  retire();
  share_ = std::move(share);
  loaded_ = true;
  done_ = 0;
  records_.assign(share_.size(), Record{});
  for (std::uint32_t item = 0; item < share_.size(); ++item) {
    if (share_.waits_for[item] == 0) ready.push_back(item);
  }
  const std::vector<Early> early = std::exchange(early_, {});
  for (const Early& e : early) notify(e.window, e.item, ready, chunks);
}

void ShareProgress::notify(std::uint32_t window, std::uint32_t item,
                           std::vector<std::uint32_t>& ready, std::vector<std::uint32_t>& chunks) {
  if (!loaded_ || window > share_.window) {
    early_.push_back({window, item});
    return;
  }
  TROUPE_ASSERT(window == share_.window);
  if (item < share_.size()) return notify_one(item, ready, chunks);
  for (const std::uint32_t i : share_.items_of_arrival(item - share_.size())) {
    notify_one(i, ready, chunks);
  }
}

void ShareProgress::notify_one(std::uint32_t item, std::vector<std::uint32_t>& ready,
                               std::vector<std::uint32_t>& chunks) {
  if (share_.waits_for[item] == 0) {
    chunks.push_back(item);
  } else if (--share_.waits_for[item] == 0) {
    ready.push_back(item);
  }
}

std::optional<std::uint32_t> ShareProgress::first_pending() const {
  if (is_complete()) return std::nullopt;
  const auto found =
      std::find_if(records_.begin(), records_.end(), [](const Record& r) { return !r.finished(); });
  if (found == records_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - records_.begin());
}

void ShareProgress::retire() {
  if (!loaded_) return;
  history_.push_back({std::move(share_), std::move(records_)});
  share_ = Share{};
  loaded_ = false;
  done_ = 0;
}

std::vector<ShareRecords> ShareProgress::take_records() {
  retire();
  return std::exchange(history_, {});
}

void ShareProgress::check_invariants() const {
  TROUPE_ASSERT(done_ <= share_.size());
  if (!loaded_) return;
  TROUPE_ASSERT(records_.size() == share_.size());
}

}  // namespace troupe
