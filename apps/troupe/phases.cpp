#include "apps/troupe/phases.hpp"

#include "core/base/text.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

#include <fmt/format.h>

namespace troupe {

void Phases::ended(std::string_view phase, std::uint64_t ops) {
  const auto now = std::chrono::steady_clock::now();
  const auto taken = std::chrono::duration_cast<Duration>(now - since_);
  since_ = now;
  if (!verbose_) return;
  std::string line = fmt::format("{} {} ops in {}", phase, ops, format_duration(taken));
  if (ops > 0) line += fmt::format(", {} ns each", taken.count() / static_cast<std::int64_t>(ops));
  bar_.print_line(line);
}

void Phases::show(const RunProgress& progress) {
  bar_.show(progress);
  const bool has_begun = progress.phase == RunProgress::Phase::running && progress.done > 0;
  if (!verbose_ || !has_begun || progress.scenario == under_way_) return;
  under_way_ = progress.scenario;
  bar_.print_line(fmt::format("'{}' is under way", visible(under_way_)));
}

}  // namespace troupe
