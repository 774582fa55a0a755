// An order of groups of ops, with waits between them, that is timed.
#pragma once

#include "core/base/error.hpp"
#include "core/base/id.hpp"

#include <string>
#include <vector>

namespace troupe {

struct Step {
  GroupId group = {};  // none: wait until all ops before this step have completed
  SourcePlace place = {};

  bool is_wait() const { return !group; }
};

// For example, [run, wait, copy, wait] compared with [run, copy, wait]. The clock starts with the
// first step and stops when all steps have completed. Ops that a listed group needs, but that no
// step lists, are executed before the clock starts.
struct Scenario {
  std::string name;
  std::vector<Step> steps;
  SourcePlace place = {};
};

}  // namespace troupe
