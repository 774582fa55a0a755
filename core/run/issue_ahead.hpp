// What a resource that orders its work itself may be given before earlier work has ended.
#pragma once

#include "core/plan/share.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

// An item is waiting, issued, or done. An item of most resources is issued when it starts, and its
// successors learn when it is done. A resource that issues ahead is given items whose inputs were
// issued, but aren't done: what carries the items out, such as a stream of a GPU, waits by itself.
struct IssueAhead {
  // How many items of a stream or a direction may be under way: started, or issued and not done.
  std::uint32_t depth = 1;
  // By resource: whether it can wait for tokens of this one. Its items then learn when an item was
  // issued, all others when it is done. Empty: none can, and nothing is issued ahead.
  std::vector<bool> can_wait = {};

  bool is_on() const { return !can_wait.empty(); }
  bool tells_at_issue(ResourceId successor) const { return can_wait[successor.index()]; }
};

}  // namespace troupe
