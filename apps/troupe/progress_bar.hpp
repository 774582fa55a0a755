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

// Appears after one second, and only if standard error is a terminal that can redraw a line (which
// TERM=dumb can't) and the host has a thread for it, which redraws it ten times a second. Never
// wider than the terminal.
//
//   [ loading run.yaml… 3 s ]
//   [============            ]  50 %  everything at once
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Starts a phase whose progress isn't known, such as "loading run.yaml".
  void begin(std::string what);
  void show(const RunProgress& progress);
  // Prints a line to standard error, whether it is a terminal or not. Erases the bar first.
  void print_line(const std::string& message);
  // Erases the bar. It isn't drawn again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void redraw_until_cleared();
  std::string line() const;
  void wipe();

  const Clock::time_point made_ = Clock::now();
  std::mutex mutex_;  // guards the members below, and writing to standard error
  std::condition_variable cleared_;
  bool is_cleared_ = false;
  bool is_drawn_ = false;
  std::string what_;
  Clock::time_point begun_ = made_;
  std::optional<double> part_;  // of the phase that is done; none: not known
  std::thread painter_;         // runs only if there is a terminal
};

}  // namespace troupe
