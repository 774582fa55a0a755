#include "actors/session/sent_windows.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace troupe {
namespace {

constexpr Duration counted_op_min = std::chrono::microseconds(10);

}  // namespace

SentWindows::Entry SentWindows::make_entry(Window& window, std::uint64_t calls_before) const {
  Entry entry{.number = window.number,
              .first = window.first,
              .shares = {},
              .to_release = {},
              .calls_before = calls_before};
  for (auto& [resource, share] : window.shares) entry.shares.emplace_back(resource, share);
  entry.is_counted = counts_work_ && counts(entry);
  return entry;
}

SentWindows::Entry SentWindows::take_first() {
  Entry first = std::move(entries_.front());
  entries_.pop_front();
  return first;
}

const SentWindows::Entry* SentWindows::find(std::uint32_t window) const {
  if (entries_.empty() || window < entries_.front().number) return nullptr;
  return &entries_[window - entries_.front().number];
}

// Windows begin with higher units than those before them.
const SentWindows::Entry& SentWindows::window_of(UnitId unit) const {
  const auto after =
      std::upper_bound(entries_.begin(), entries_.end(), unit,
                       [](UnitId wanted, const Entry& window) { return wanted < window.first; });
  return *std::prev(after);
}

bool SentWindows::has_finished(std::uint32_t window, ItemRef unit) const {
  const Entry* const entry = find(window);
  if (entry == nullptr) return true;
  const auto share =
      std::find_if(entry->shares.begin(), entry->shares.end(),
                   [&](const SentShare& sent) { return sent.resource() == unit.resource; });
  return share->has_finished(unit.item);
}

UnitId SentWindows::unfinished(DeviceId device, std::uint64_t calls) const {
  for (auto window = entries_.rbegin(); window != entries_.rend(); ++window) {
    if (window->calls_before >= calls) continue;
    for (const SentShare& share : window->shares) {
      if (share.resource() != ResourceId::at(device.index())) continue;
      for (std::size_t item = share.size(); item-- > 0;) {
        if (!share.has_finished(item)) return share.unit(item);
      }
    }
  }
  return {};
}

std::vector<Duration> SentWindows::expected_left() const {
  std::vector<Duration> left(machine_.devices.size(), Duration{0});
  for (const Entry& window : entries_) {
    if (!window.is_counted) continue;
    for (const SentShare& share : window.shares) {
      const std::size_t device = share.resource().index();
      if (device >= left.size()) continue;  // a link
      const Duration more = share.expected_left() / machine_.devices[device].streams;
      left[device] = std::min(left[device] + more, longest_duration);
    }
  }
  return left;
}

bool SentWindows::counts(const Entry& window) const {
  Duration expected{0};
  std::size_t ops = 0;
  for (const SentShare& share : window.shares) {
    if (share.resource().index() >= machine_.devices.size()) continue;  // a link
    expected = std::min(expected + share.expected_left(), longest_duration);
    ops += share.size();
  }
  return expected >= counted_op_min * static_cast<std::int64_t>(ops);
}

}  // namespace troupe
