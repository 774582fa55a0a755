// An order of work to time: groups of ops with waits between them.
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

// e.g. [run, wait, copy, wait] against [run, copy, wait]. The clock starts with the first step and
// stops when everything has completed. Ops that a listed group needs, but that no step lists, are
// prepared before the clock starts.
struct Scenario {
  std::string name;
  std::vector<Step> steps;
  SourcePlace place = {};
};

}  // namespace troupe
