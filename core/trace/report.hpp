// What a run or a simulation came to: plain names and numbers, the same for both.
#pragma once

#include "core/base/time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// One row of a timeline: a stream of a device, or a direction of a link.
struct Track {
  std::string resource;  // "gpu0", "pcie0"
  std::string name;      // "gpu0", "gpu0 stream 1", "pcie0 host→vram0"
};

// One op or transfer on one track.
struct Span {
  std::uint32_t track = 0;
  std::uint32_t label = 0;  // into Timeline::labels
  std::uint32_t index = 0;  // of "run[3]"; no_index where the label is the whole name
  Instant start{};          // since the scenario's clock started
  Instant end{};

  static constexpr std::uint32_t no_index = 0xFFFFFFFFU;
};

struct Timeline {
  std::vector<Track> tracks;
  std::vector<std::string> labels;  // "run", "copy", "run → host"
  std::vector<Span> spans;          // in graph order, finished ones only
  // Dependencies: spans[predecessors[k]] for k in first_predecessor[i] … first_predecessor[i+1]-1
  // finished (or, on a pipelined route, delivered a part) before spans[i] started.
  std::vector<std::uint32_t> first_predecessor;  // spans.size() + 1, or empty
  std::vector<std::uint32_t> predecessors;

  std::string name(const Span& s) const {
    return s.index == Span::no_index ? labels[s.label]
                                     : labels[s.label] + "[" + std::to_string(s.index) + "]";
  }
};

struct ResourceUse {
  std::string name;  // device, stream-less; link direction ("pcie0 host→vram0")
  enum class Kind { device, link } kind = Kind::device;
  Duration busy{0};        // summed over its streams
  int lanes = 1;           // streams; 1 for a link direction
  double utilisation = 0;  // busy / (lanes * makespan), 0..1
};

// `not_run`: never begun, since an earlier scenario failed or the run was interrupted.
enum class Outcome { done, failed, interrupted, not_run };

// "done", "failed", "interrupted", "not run": as reports say it.
std::string_view outcome_name(Outcome outcome);

struct ScenarioReport {
  std::string name;
  Outcome outcome = Outcome::done;
  std::string error;            // where it failed: names op, device and cause
  std::uint64_t ops = 0;        // finished ones, copies too
  std::uint64_t transfers = 0;  // finished ones; a copy over n links is n
  std::uint64_t planned = 0;    // ops and transfers; of a copy over links only its transfers
  std::uint64_t finished = 0;   // of the planned ones
  Duration serial{0};           // sum of all op and transfer times
  Duration lower_bound{0};      // max(critical path, busiest device, busiest link direction)
  std::string bound_by;         // "gpu0", "pcie0 vram0→host", "critical path"
  Duration makespan{0};
  // Real time it took the actors, from the first message to the last record handed in; the makespan
  // of a real run, about. Neither planning nor reporting is in it.
  Duration took{0};
  std::optional<bool> verified;  // every result equals the serial execution; none: not checked
  std::string mismatch;          // where verified is false: the first tensor that differs
  std::vector<ResourceUse> resources;
  Timeline timeline;

  double speedup() const { return makespan.count() > 0 ? seconds(serial) / seconds(makespan) : 1; }
  double overlap_efficiency() const {
    return makespan.count() > 0 ? seconds(lower_bound) / seconds(makespan) : 1;
  }
};

struct Report {
  std::string title;  // what it is about; may be empty
  std::string machine;
  std::string mode;  // "run" or "simulate"
  std::uint64_t seed = 0;
  bool interrupted = false;  // ended early, by whoever started it; not where all was finished
  std::vector<ScenarioReport> scenarios;
  std::vector<std::string> notes;  // what a user should know of the run, one sentence each
};

}  // namespace troupe
