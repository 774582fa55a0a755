// HEFT (Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for
// Heterogeneous Computing, IEEE TPDS 13(3), 2002).
#pragma once

#include "core/base/time.hpp"
#include "core/plan/placement_policy.hpp"

#include <vector>

namespace troupe {

struct HeftSchedule {
  std::vector<DeviceId> devices;
  std::vector<Duration> ends;  // of the ops, on idle links
};

// Takes ops in order of descending upward rank (mean op and transfer times over the devices that
// can run them). Each op gets the device that finishes it earliest, in the first gap that is long
// enough. Between waits, each window is placed by itself: its ops start when the windows before are
// done. O(n log n) for n ops and inputs; on many devices times what DeviceSearch takes.
HeftSchedule heft_schedule(const PlacementRequest& request);

}  // namespace troupe
