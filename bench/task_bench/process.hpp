// Measurements in separate processes, so that threads, pinning and memory of one runtime don't
// disturb the next.
#pragma once

#include "bench/task_bench/runtime.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

struct Measurement {
  Times times;
  // Growth of the resident set since before the run. 0 on several nodes: some have processes of
  // their own.
  std::uint64_t peak_bytes = 0;
};

// Measures once in this process.
Measurement measure_here(const Runtime& runtime, const Workload& workload);

// Writes the result of a process started by measure_apart() to the path that it was given.
void send_result(const Measurement& measurement, const std::string& path);

// Runs this program again, in a new process, with `arguments` and "--report PATH"; in a process for
// each node if the runtime has a launcher. Blocks until they end. Returns their result; of several,
// the longest times. Returns nullopt if one failed; it has then printed the reason to
// standard error. Throws a run Error if the system can't start a process.
std::optional<Measurement> measure_apart(const Runtime& runtime, const Workload& workload,
                                         std::vector<std::string> arguments);

}  // namespace troupe::bench
