#include "core/run/coordinator_logic.hpp"

#include "core/base/assert.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace troupe {

CoordinatorLogic::CoordinatorLogic(std::size_t resources)
    : done_(resources, 0), is_collected_(resources, false), missing_(resources) {}

void CoordinatorLogic::on_window(const WindowSize& size, Instant now) {
  TROUPE_ASSERT(!is_closed_);
  windows_.push_back(size);
  proceed(now);
}

void CoordinatorLogic::on_end_of_windows(Instant now) {
  is_closed_ = true;
  proceed(now);
}

void CoordinatorLogic::on_begin(Instant now) {
  if (phase_ != Phase::waiting) return;  // interrupted before it began
  phase_ = Phase::running;
  proceed(now);
}

// Reports windows that are done, sends windows that may start, and ends the run after the last one.
void CoordinatorLogic::proceed(Instant now) {
  if (phase_ != Phase::running) return;
  for (;;) {
    while (first_ < sent_ && windows_.front().shares == 0) {
      windows_.pop_front();
      commands_.push_back(WindowDone{first_++});
    }
    if (sent_ - first_ == windows_.size()) break;
    const WindowSize& next = windows_[sent_ - first_];
    if (next.waits && first_ < sent_) break;
    if (next.timed && !origin_) origin_ = now;
    items_sent_ += next.items;
    quiet_at_.reset();
    commands_.push_back(SendWindow{sent_++});
  }
  if (!is_closed_ || !windows_.empty()) return;
  if (!origin_) origin_ = now;
  end(Ending::done);
}

void CoordinatorLogic::on_progress(ResourceId resource, std::uint64_t done) {
  std::uint64_t& known = done_[resource.index()];
  TROUPE_ASSERT(done >= known);
  items_done_ += done - known;
  known = done;
}

void CoordinatorLogic::on_share_complete(std::uint32_t window, Instant now) {
  if (phase_ != Phase::running) return;
  TROUPE_ASSERT(window >= first_ && window < sent_);
  WindowSize& size = windows_[window - first_];
  TROUPE_ASSERT(size.shares > 0);
  --size.shares;
  proceed(now);
}

void CoordinatorLogic::on_failure(Failure failure) {
  if (phase_ != Phase::running && phase_ != Phase::waiting) return;
  failure_ = std::move(failure);
  end(Ending::failed);
}

void CoordinatorLogic::on_interrupt() {
  if (phase_ == Phase::running || phase_ == Phase::waiting) end(Ending::interrupted);
}

void CoordinatorLogic::end(Ending outcome) {
  outcome_ = outcome;
  phase_ = Phase::collecting;
  if (outcome != Ending::done) commands_.push_back(StopAll{});
  commands_.push_back(CollectAll{});
  if (missing_ == 0) {
    phase_ = Phase::finished;
    commands_.push_back(Finish{});
  }
}

void CoordinatorLogic::on_collected(ResourceId resource) {
  if (phase_ != Phase::collecting || is_collected_[resource.index()]) return;
  is_collected_[resource.index()] = true;
  if (--missing_ > 0) return;
  phase_ = Phase::finished;
  commands_.push_back(Finish{});
}

void CoordinatorLogic::on_all_statuses(const std::vector<Status>& statuses) {
  if (phase_ != Phase::running) return;
  std::uint64_t done = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;
  for (const Status& s : statuses) {
    done += s.done;
    in_flight += s.in_flight;
    sent += s.chunks_sent;
    arrived += s.chunks_arrived;
  }
  const bool is_quiet = in_flight == 0 && sent == arrived && done < items_sent_;
  const Quiet quiet{.items_done = done, .chunks_sent = sent};
  if (is_quiet && quiet_at_ == quiet) {
    constexpr std::size_t described_max = 3;
    Failure failure{.cause =
                        fmt::format("nothing is in flight and {} ops and transfers are pending",
                                    items_sent_ - done)};
    for (const Status& s : statuses) {
      if (s.pending && failure.stuck.size() < described_max) failure.stuck.push_back(s);
    }
    on_failure(std::move(failure));
    return;
  }
  quiet_at_ = is_quiet ? std::optional(quiet) : std::nullopt;
}

void CoordinatorLogic::check_invariants() const {
  TROUPE_ASSERT(std::accumulate(done_.begin(), done_.end(), std::uint64_t{0}) == items_done_);
  TROUPE_ASSERT(items_done_ <= items_sent_);
  TROUPE_ASSERT(first_ <= sent_ && sent_ - first_ <= windows_.size());
  const auto missing = std::count(is_collected_.begin(), is_collected_.end(), false);
  TROUPE_ASSERT(static_cast<std::size_t>(missing) == missing_);
}

}  // namespace troupe
