// The report of a run or a simulation: names and numbers only.
#pragma once

#include "core/base/big_vector.hpp"
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
  std::uint32_t label = 0;  // index into Timeline::labels
  std::uint32_t index = 0;  // 3 for "run[3]"; no_index if the label is the whole name
  Instant start{};          // since the scenario's clock started
  Instant end{};

  static constexpr std::uint32_t no_index = 0xFFFFFFFFU;
};

struct Timeline {
  std::vector<Track> tracks;
  std::vector<std::string> labels;  // "run", "copy", "run → host"
  BigVector<Span> spans;            // finished ops and transfers, in graph order
  // Dependencies: for k in first_predecessor[i] … first_predecessor[i+1]-1, spans[predecessors[k]]
  // finished before spans[i] started, or delivered a chunk if they are on one route.
  BigVector<std::uint32_t> first_predecessor;  // spans.size() + 1 entries, or none
  BigVector<std::uint32_t> predecessors;

  std::string name(const Span& s) const {
    return s.index == Span::no_index ? labels[s.label]
                                     : labels[s.label] + "[" + std::to_string(s.index) + "]";
  }
};

struct ResourceUse {
  std::string name;  // "gpu0" for all its streams; "pcie0 host→vram0" for a link direction
  enum class Kind { device, link } kind = Kind::device;
  Duration busy{0};        // sum over streams
  int streams = 1;         // of a device; 1 for a link direction
  double utilisation = 0;  // busy / (streams * makespan), 0..1
};

// `not_run`: never begun, since an earlier scenario failed or the run was interrupted.
// `done_before`: not begun, since it was done when the run was resumed from a checkpoint.
enum class Outcome { done, failed, interrupted, not_run, done_before };

// "done", "failed", "interrupted", "not run", "done before": as reports say it.
std::string_view outcome_name(Outcome outcome);

struct ScenarioReport {
  std::string name;
  Outcome outcome = Outcome::done;
  std::string error;            // the op, the device and the cause, if it failed
  std::uint64_t ops = 0;        // finished timed ops, copies included
  std::uint64_t transfers = 0;  // finished transfers; a copy over n links is n transfers
  // Timed units (ops and transfers) of the scenario's plan, and those that have finished. A copy
  // over n links is n units, so once all is done `planned` is ops + transfers - such copies.
  std::uint64_t planned = 0;
  std::uint64_t finished = 0;
  Duration serial{0};       // sum of all op and transfer times
  Duration lower_bound{0};  // max(critical path, busiest device, busiest link direction)
  std::string bound_by;     // e.g. "gpu0", "pcie0 vram0→host", "critical path"
  Duration makespan{0};
  // Real time from the actors' first message to the last record received, without planning and
  // reporting. In a real run it is close to the makespan.
  Duration took{0};
  std::optional<bool> verified;  // all results equal the serial execution; nullopt: unchecked
  std::string mismatch;          // the first tensor that differs, if verified is false
  std::vector<ResourceUse> resources;
  Timeline timeline;

  // Speedup and overlap mean something only if the scenario is done and took time.
  bool is_rated() const { return outcome == Outcome::done && makespan.count() > 0; }
  double speedup() const { return makespan.count() > 0 ? seconds(serial) / seconds(makespan) : 1; }
  double overlap_efficiency() const {
    return makespan.count() > 0 ? seconds(lower_bound) / seconds(makespan) : 1;
  }
};

struct Report {
  std::string title;  // may be empty
  std::string machine;
  std::string mode;  // "run"; "simulate" for Mode::rehearse, too, since times are simulated there
  std::uint64_t seed = 0;
  bool interrupted = false;  // the user ended the run before everything was finished
  std::vector<ScenarioReport> scenarios;
  std::vector<std::string> notes;  // for the user, one sentence each
};

}  // namespace troupe
