// A line on the terminal that says how far a run is.
#pragma once

#include "actors/runner.hpp"

#include <chrono>

namespace troupe {

// Shows nothing within its first second, and nothing at all where standard error is
// not a terminal.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const RunProgress& progress);
  // Takes the line away.
  void clear();

 private:
  bool is_terminal_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace troupe
