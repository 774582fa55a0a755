// The phases of a command, such as planning: what the progress bar shows and --verbose prints.
#pragma once

#include "apps/troupe/guard.hpp"
#include "apps/troupe/progress_bar.hpp"
#include "core/base/error.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

class Phases {
 public:
  // `verbose`: print to standard error how long each phase took.
  explicit Phases(bool verbose) : verbose_(verbose) {}

  ProgressBar& bar() { return bar_; }
  // Runs `work` as a phase of this name, which the progress bar shows. Throws like guard().
  template <class Work>
  decltype(auto) run(ErrorKind kind, const std::string& what, Work&& work) {
    bar_.begin(what);
    return guard(kind, what, work);
  }
  // Call at the end of each phase that --verbose names, with the number of ops that it worked on.
  void ended(std::string_view phase, std::uint64_t ops);
  // --verbose names a scenario once some of its ops have finished.
  void show(const RunProgress& progress);

 private:
  const bool verbose_;
  ProgressBar bar_;
  std::string under_way_;  // the scenario named last
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace troupe
