// A line on the terminal that says what the program is doing, and how far it is.
#pragma once

#include "actors/runner.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace troupe {

// Shows nothing within its first second, and nothing at all where standard error is not a terminal,
// or one that can't redraw a line (TERM=dumb). No wider than the terminal is at the time.
// A thread of its own redraws it ten times a second, whatever the program is at.
//
//   [ loading run.yaml… 3 s ]
//   [============            ]  50 %  everything at once
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // What the program begins now, of which it can't say how far it is: "loading run.yaml".
  void begin(std::string what);
  void show(const RunProgress& progress);
  // Prints a message of one line to standard error, terminal or not; the bar makes room for it.
  void say(const std::string& message);
  // Takes the line away for good.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void redraw_until_cleared();
  std::string line() const;
  void wipe();

  const Clock::time_point made_ = Clock::now();
  std::mutex mutex_;  // over all that follows, and over writing
  std::condition_variable cleared_;
  bool is_cleared_ = false;
  bool is_drawn_ = false;
  std::string what_;
  Clock::time_point begun_ = made_;
  std::optional<double> part_;  // done; none where that isn't known
  std::thread painter_;         // where there is a terminal
};

}  // namespace troupe
