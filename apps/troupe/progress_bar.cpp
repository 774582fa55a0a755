#include "apps/troupe/progress_bar.hpp"

#include "apps/troupe/print_error.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t width_max = 78;

// `text` cut to `bytes`, but not within a character.
std::string cut(std::string text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  text.resize(bytes);
  return text;
}

}  // namespace

ProgressBar::ProgressBar() {
  if (isatty(STDERR_FILENO) == 1) painter_ = std::thread([this] { redraw_until_cleared(); });
}

void ProgressBar::begin(std::string what) {
  const std::lock_guard lock(mutex_);
  if (what == what_ && !part_) return;
  what_ = std::move(what);
  begun_ = Clock::now();
  part_.reset();
}

void ProgressBar::show(const RunProgress& progress) {
  if (progress.stage == RunProgress::Stage::reserving) {
    begin(fmt::format("reserving memory for {}", progress.scenario));
    return;
  }
  const std::lock_guard lock(mutex_);
  what_ = (progress.stage == RunProgress::Stage::verifying ? "checking " : "") + progress.scenario;
  part_ = progress.total > 0
              ? static_cast<double>(progress.done) / static_cast<double>(progress.total)
              : 0;
}

void ProgressBar::say(const std::string& lines) {
  const std::lock_guard lock(mutex_);
  wipe();
  print_error("{}", lines);
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
    print_error("\r\033[K{}", line());
    std::fflush(stderr);
    is_drawn_ = true;
  } while (!cleared_.wait_for(lock, 100ms, is_cleared));
}

std::string ProgressBar::line() const {
  if (!part_) {
    const auto taken = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begun_);
    const std::string end = fmt::format("… {} s ]", taken.count());
    return "[ " + cut(what_, width_max - end.size() - 2) + end;
  }
  constexpr std::size_t width = 24;
  const auto filled = std::min(width, static_cast<std::size_t>(*part_ * width));
  return cut(fmt::format("[{}{}] {:3.0f} %  {}", std::string(filled, '='),
                         std::string(width - filled, ' '), *part_ * 100, what_),
             width_max);
}

void ProgressBar::wipe() {
  if (!is_drawn_) return;
  print_error("\r\033[K");
  std::fflush(stderr);
  is_drawn_ = false;
}

}  // namespace troupe
