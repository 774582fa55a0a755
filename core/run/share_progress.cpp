#include "core/run/share_progress.hpp"

#include <algorithm>

namespace troupe {

Share ShareProgress::take_first_complete() {
  const auto found = std::find_if(parts_.begin(), parts_.end(),
                                  [](const auto& part) { return part->is_complete(); });
  Share share = std::move((*found)->share);
  parts_.erase(found);
  --complete_;
  return share;
}

std::vector<Share> ShareProgress::take_all() {
  std::vector<Share> shares;
  for (const auto& part : parts_) shares.push_back(std::move(part->share));
  parts_.clear();
  complete_ = 0;
  return shares;
}

void ShareProgress::check_invariants() const {
  std::uint32_t complete = 0;
  std::uint32_t window = 0;
  for (const auto& part : parts_) {
    TROUPE_ASSERT(part->done <= part->share.size());
    TROUPE_ASSERT(part->share.window >= window && part->share.window < next_window_);
    window = part->share.window + 1;
    if (part->is_complete()) ++complete;
  }
  TROUPE_ASSERT(complete == complete_);
}

}  // namespace troupe
