#include "apps/troupe/progress_bar.hpp"

#include "apps/troupe/print_error.hpp"
#include "core/base/text.hpp"
#include "core/trace/text_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t width_max = 78;

bool can_redraw_lines() {
  if (isatty(STDERR_FILENO) != 1) return false;
  const char* terminal = std::getenv("TERM");
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

// In columns. A terminal would wrap a line that reaches its last column, and only the end of the
// line would be erased.
std::size_t line_width_max() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return width_max;
  return std::min<std::size_t>(width_max, size.ws_col - 1U);
}

}  // namespace

ProgressBar::ProgressBar() {
  if (!can_redraw_lines()) return;
  try {
    painter_ = std::thread([this] { redraw_until_cleared(); });
  } catch (const std::system_error&) {  // the process has reached its limit of threads
  }
}

void ProgressBar::begin(std::string what) {
  const std::lock_guard lock(mutex_);
  if (what == what_ && !part_) return;
  what_ = std::move(what);
  begun_ = Clock::now();
  part_.reset();
}

void ProgressBar::show(const RunProgress& progress) {
  if (progress.phase == RunProgress::Phase::reserving) {
    begin(fmt::format("reserving memory for {}", progress.scenario));
    return;
  }
  const std::lock_guard lock(mutex_);
  what_ = progress.scenario;
  if (progress.phase == RunProgress::Phase::verifying) what_ = "checking " + what_;
  if (progress.phase == RunProgress::Phase::checkpointing) what_ = "checkpoint of " + what_;
  if (progress.phase == RunProgress::Phase::saving) what_ = "saving results of " + what_;
  part_ = progress.total > 0
              ? static_cast<double>(progress.done) / static_cast<double>(progress.total)
              : 0;
}

void ProgressBar::print_line(const std::string& message) {
  const std::lock_guard lock(mutex_);
  wipe();
  print_error("{}", message);
}

void ProgressBar::clear() {
  {
    const std::lock_guard lock(mutex_);
    is_cleared_ = true;
    wipe();
  }
  cleared_.notify_all();
  if (painter_.joinable()) painter_.join();
}

void ProgressBar::redraw_until_cleared() {
  std::unique_lock lock(mutex_);
  const auto is_cleared = [this] { return is_cleared_; };
  if (cleared_.wait_until(lock, made_ + 1s, is_cleared)) return;
  do {
    if (what_.empty()) continue;
    write_to_terminal("\r\033[K" + line());
    is_drawn_ = true;
  } while (!cleared_.wait_for(lock, 100ms, is_cleared));
}

std::string ProgressBar::line() const {
  const std::size_t width = line_width_max();
  const std::string what = visible(what_);
  if (!part_) {
    const auto taken = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begun_);
    const std::string end = fmt::format("… {} s ]", taken.count());
    const std::size_t frame = display_width("[ " + end);
    return shorten("[ " + shorten(what, width - std::min(width, frame)) + end, width);
  }
  constexpr std::size_t bar = 24;
  const auto filled = std::min(bar, static_cast<std::size_t>(*part_ * bar));
  const std::string drawn =
      fmt::format("[{}{}] ", std::string(filled, '='), std::string(bar - filled, ' '));
  const std::string percent = fmt::format("{:3.0f} %", *part_ * 100);
  const bool has_room = display_width(drawn + percent) <= width;
  return shorten((has_room ? drawn : "") + percent + "  " + what, width);
}

void ProgressBar::wipe() {
  if (!is_drawn_) return;
  write_to_terminal("\r\033[K");
  is_drawn_ = false;
}

}  // namespace troupe
