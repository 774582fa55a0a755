#include "tests/support/cuda/stand_in/accesses.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::testing {
namespace {

bool overlap(const Access& a, const Access& b) {
  return a.begin < b.end() && b.begin < a.end();
}
bool must_be_ordered(const Access& a, const Access& b) {
  return overlap(a, b) && (a.writes || b.writes);
}
bool covers(const Access& a, const Access& b) {
  return a.begin <= b.begin && b.end() <= a.end();
}

std::string_view verb(const Access& access) {
  return access.writes ? "writes" : "reads";
}

}  // namespace

std::string WorkId::text() const {
  if (number == 0) return std::string(what) + " (host)";
  return std::string(what) + " (stream " + std::to_string(stream) + ", work " +
         std::to_string(number) + ")";
}

void AccessHistory::check(const Access& access, const Order& order, const WorkId& work,
                          const std::string& place, bool is_pinned, Control& control) const {
  for (auto it = past_.begin(); it != past_.end(); ++it) {
    const Past& past = *it;
    if (!must_be_ordered(access, past.access)) continue;
    if (!order.all.contains(past.work.stream, past.work.number)) {
      control.fail("race: " + work.text() + ' ' + std::string(verb(access)) + ' ' + place +
                   ", which " + past.work.text() + ' ' + std::string(verb(past.access)) +
                   ", and nothing orders the two");
      return;
    }
    // Of what it wrote, nothing may be left: kernels are taken to write whole allocations, which a
    // later and smaller write doesn't cover. Nor does it cover what kernels are taken to read, but
    // where a tensor begins is certain.
    Access needed = access;
    if (access.is_whole) needed.bytes = 1;
    const bool is_overwritten = std::any_of(std::next(it), past_.end(), [&](const Past& later) {
      return later.access.writes && covers(later.access, needed);
    });
    if (work.number != 0 && !is_pinned && access.reads && past.access.writes && !is_overwritten &&
        !order.on_devices.contains(past.work.stream, past.work.number)) {
      control.count_round_trip(work.text() + " reads " + place + ", which " + past.work.text() +
                               " wrote; only a wait of the host orders the two");
    }
  }
}

void AccessHistory::add(const Access& access, const Order& order, const WorkId& work) {
  std::erase_if(past_, [&](const Past& past) {
    if (!covers(access, past.access)) return false;
    if (access.writes) return order.all.contains(past.work.stream, past.work.number);
    return !past.access.writes && past.work.stream == work.stream;
  });
  past_.push_back({access, work});
}

bool AccessHistory::is_busy(const Access& access, const VectorClock& clock) const {
  return std::any_of(past_.begin(), past_.end(), [&](const Past& past) {
    return must_be_ordered(access, past.access) &&
           !clock.contains(past.work.stream, past.work.number);
  });
}

}  // namespace troupe::testing
