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
  std::uint64_t peak_bytes = 0;  // growth of the resident set since before the run
};

// Measures once in this process.
Measurement measure_here(const Runtime& runtime, const Workload& workload);

// Writes the result of a process started by measure_apart() to its file descriptor.
void send_result(const Measurement& measurement, int fd);

// Runs this program again, in a new process, with `arguments` and "--report-fd N". Blocks until it
// ends. Returns its result, or nullopt if it failed; it has then printed the reason to standard
// error. Throws a run Error if the system can't start a process.
std::optional<Measurement> measure_apart(std::vector<std::string> arguments);

}  // namespace troupe::bench
