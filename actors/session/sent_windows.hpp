// The windows of a session that the actors are working on.
#pragma once

#include "core/base/time.hpp"
#include "core/machine/machine.hpp"
#include "core/plan/plan.hpp"
#include "core/run/records.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace troupe {

// In the order of their numbers, which follow each other. They complete in this order, too.
class SentWindows {
 public:
  struct Entry {
    std::uint32_t number = 0;
    UnitId first;                       // as in Window
    std::vector<SentShare> shares;      // which exist until the window is taken back
    std::vector<ReplicaId> to_release;  // when it has completed
    std::uint64_t calls_before = 0;     // handed out before this window
    bool is_counted = false;            // in expected_left()
  };

  // `counts_work`: see expected_left(). `machine` must outlive the object.
  SentWindows(const Machine& machine, bool counts_work)
      : machine_(machine), counts_work_(counts_work) {}

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const Entry& front() const { return entries_.front(); }
  // Of a window that is about to be sent. Nobody may be working on it yet.
  Entry make_entry(Window& window, std::uint64_t calls_before) const;
  Entry& add(Entry entry) { return entries_.emplace_back(std::move(entry)); }
  // Removes the first one, which has completed.
  Entry take_first();

  // Null: this window has completed.
  const Entry* find(std::uint32_t window) const;
  Entry* find(std::uint32_t window) {
    return const_cast<Entry*>(std::as_const(*this).find(window));
  }
  // Of one of them.
  const Entry& window_of(UnitId unit) const;
  // Whether a unit of this window has finished.
  bool has_finished(std::uint32_t window, ItemRef unit) const;
  // What the device has still to do of windows that were sent before so many calls had been handed
  // out: the unit that is likely to be the last. None: nothing.
  UnitId unfinished(DeviceId device, std::uint64_t calls) const;

  // By device, how long it will be at work, all its streams together, by the cost model. Windows
  // with short ops, on average, don't count: they are done before it matters. Without counts_work,
  // none does.
  std::vector<Duration> expected_left() const;

 private:
  bool counts(const Entry& window) const;

  const Machine& machine_;
  const bool counts_work_;
  std::deque<Entry> entries_;
};

}  // namespace troupe
