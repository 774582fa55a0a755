// Measurements in processes of their own, so that runtimes don't disturb each other: neither by
// their threads and pinning nor by the memory they keep.
#pragma once

#include "bench/task_bench/runtime.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

struct Measurement {
  Times times;
  std::uint64_t peak_bytes = 0;  // growth of the resident set over what it was before the run
};

// Measures once in this process.
Measurement measure_here(const Runtime& runtime, const Workload& workload);

// What a process started by measure_apart() hands its result in with.
void hand_in(const Measurement& measurement, int fd);

// Runs this program again with `arguments` and "--report-fd N", and blocks until it has ended. The
// result that it handed in there; none where it failed, and has said why on standard error. Throws
// a run Error where the system refuses a process.
std::optional<Measurement> measure_apart(std::vector<std::string> arguments);

}  // namespace troupe::bench
