#include "apps/troupe/progress_bar.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace troupe {

using namespace std::chrono_literals;

ProgressBar::ProgressBar()
    : is_terminal_(isatty(STDERR_FILENO) == 1), begun_(std::chrono::steady_clock::now()) {}

void ProgressBar::show(const RunProgress& progress) {
  if (!is_terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - begun_ < 1s || now - drawn_ < 100ms) return;
  drawn_ = now;
  constexpr std::size_t width = 24;
  const double part = progress.total > 0
                          ? static_cast<double>(progress.done) / static_cast<double>(progress.total)
                          : 0;
  const auto filled = std::min(width, static_cast<std::size_t>(part * width));
  std::string text = fmt::format("[{}{}] {:3.0f} %  {}{}", std::string(filled, '='),
                                 std::string(width - filled, ' '), part * 100,
                                 progress.verifying ? "checking " : "", progress.scenario);
  if (text.size() > 78) {
    std::size_t end = 78;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not within a character
    text.resize(end);
  }
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
  is_shown_ = true;
}

void ProgressBar::clear() {
  if (!is_shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  is_shown_ = false;
}

}  // namespace troupe
