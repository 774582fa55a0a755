// Reports to write: small pipelines as a run would leave them.
#pragma once

#include "core/trace/report.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::samples {

// A scenario built span by span; finish() adds up what the spans tell.
class Scenario {
 public:
  explicit Scenario(std::string name) { report_.name = std::move(name); }

  std::uint32_t track(const std::string& resource, const std::string& name);
  std::uint32_t label(const std::string& name);
  // A span on `track` that starts when the track is free and all of `after` have ended.
  std::uint32_t add(std::uint32_t track, std::uint32_t label, std::uint32_t index, Duration length,
                    const std::vector<std::uint32_t>& after = {});
  ScenarioReport finish(const std::string& bound_by, Duration lower_bound);

 private:
  ScenarioReport report_;
  std::vector<Instant> free_at_;
};

// `steps` of compute on gpu0, each result copied to the host, at once or one after the other.
ScenarioReport run_and_copy(const std::string& name, bool at_once, std::uint32_t steps,
                            Duration compute, Duration copy);

// Three scenarios of a machine with one GPU.
Report one_gpu();

}  // namespace troupe::samples
