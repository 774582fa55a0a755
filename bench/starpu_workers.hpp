// The workers of StarPU, for the modules that compare Troupe with it.
#pragma once

#include <vector>

namespace troupe::bench {

// A worker for each core, by OS number, for CPUs only and without calibration. Throws a run Error
// if StarPU doesn't start as many.
class StarpuWorkers {
 public:
  explicit StarpuWorkers(const std::vector<int>& cores);
  ~StarpuWorkers();
  StarpuWorkers(const StarpuWorkers&) = delete;
  StarpuWorkers& operator=(const StarpuWorkers&) = delete;
};

}  // namespace troupe::bench
