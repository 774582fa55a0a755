// The workers of StarPU, for the modules that compare Troupe with it.
#pragma once

#include <vector>

#include <starpu.h>

namespace troupe::bench {

// A worker for each core, by OS number, for CPUs only and without calibration.
starpu_conf starpu_workers_on(const std::vector<int>& cores);
// Throws a run Error unless StarPU has started a worker for each core.
void check_starpu_workers(const std::vector<int>& cores);

// StarPU with these workers, from construction to destruction. Throws a run Error if StarPU doesn't
// start as many.
class StarpuWorkers {
 public:
  explicit StarpuWorkers(const std::vector<int>& cores);
  ~StarpuWorkers();
  StarpuWorkers(const StarpuWorkers&) = delete;
  StarpuWorkers& operator=(const StarpuWorkers&) = delete;
};

}  // namespace troupe::bench
