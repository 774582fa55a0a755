#include "core/run/coordinator_logic.hpp"

#include "core/base/assert.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace troupe {

CoordinatorLogic::CoordinatorLogic(std::size_t resources, std::vector<WindowSize> windows)
    : windows_(std::move(windows)),
      done_(resources, 0),
      handed_in_(resources, false),
      records_missing_(resources) {
  for (const WindowSize& w : windows_) total_ += w.items;
}

void CoordinatorLogic::on_begin(Instant now) {
  if (phase_ != Phase::waiting) return;  // interrupted before it began
  phase_ = Phase::running;
  start_window(now);
}

void CoordinatorLogic::start_window(Instant now) {
  while (window_ < windows_.size() && windows_[window_].items == 0) ++window_;
  if (window_ == windows_.size()) {
    if (!origin_) origin_ = now;
    end(Ending::done);
    return;
  }
  if (windows_[window_].timed && !origin_) origin_ = now;
  std::fill(done_.begin(), done_.end(), 0);
  window_done_ = 0;
  quiet_at_.reset();
  commands_.push_back(SendWindow{window_});
}

void CoordinatorLogic::on_progress(ResourceId resource, std::uint32_t window, std::uint64_t done,
                                   Instant now) {
  if (phase_ != Phase::running || window != window_) return;
  std::uint64_t& known = done_[resource.index()];
  TROUPE_ASSERT(done >= known);
  window_done_ += done - known;
  known = done;
  if (window_done_ < windows_[window_].items) return;
  done_before_ += window_done_;
  window_done_ = 0;
  ++window_;
  start_window(now);
}

void CoordinatorLogic::on_failure(std::string cause) {
  if (phase_ != Phase::running && phase_ != Phase::waiting) return;
  cause_ = std::move(cause);
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
  if (records_missing_ == 0) {
    phase_ = Phase::finished;
    commands_.push_back(Finish{});
  }
}

void CoordinatorLogic::on_records(ResourceId resource) {
  if (phase_ != Phase::collecting || handed_in_[resource.index()]) return;
  handed_in_[resource.index()] = true;
  if (--records_missing_ > 0) return;
  phase_ = Phase::finished;
  commands_.push_back(Finish{});
}

void CoordinatorLogic::on_all_statuses(const std::vector<Status>& statuses,
                                       const std::function<std::string(const Status&)>& describe) {
  if (phase_ != Phase::running) return;
  std::uint64_t done = 0;
  std::uint64_t in_flight = 0;
  for (const Status& s : statuses) {
    // Those without a share in this window still tell of an earlier one.
    if (s.window == window_) done += s.done;
    in_flight += s.in_flight;
  }
  const bool is_quiet = in_flight == 0 && done < windows_[window_].items;
  if (is_quiet && quiet_at_ == done) {
    constexpr std::size_t described_max = 3;
    std::vector<std::string> pending;
    for (const Status& s : statuses) {
      if (s.window != window_ || !s.pending || pending.size() == described_max) continue;
      pending.push_back(describe(s));
    }
    on_failure(fmt::format("nothing is in flight and {} ops and transfers are pending{}{}",
                           windows_[window_].items - done, pending.empty() ? "" : ": ",
                           fmt::join(pending, "; ")));
    return;
  }
  quiet_at_ = is_quiet ? std::optional(done) : std::nullopt;
}

void CoordinatorLogic::check_invariants() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t d : done_) sum += d;
  if (phase_ == Phase::running) TROUPE_ASSERT(sum == window_done_);
  TROUPE_ASSERT(items_done() <= total_);
  const auto missing = std::count(handed_in_.begin(), handed_in_.end(), false);
  TROUPE_ASSERT(static_cast<std::size_t>(missing) == records_missing_);
}

}  // namespace troupe
