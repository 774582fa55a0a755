// HEFT (Topcuoglu, Hariri, Wu: Performance-Effective and Low-Complexity Task Scheduling for
// Heterogeneous Computing, IEEE TPDS 13(3), 2002).
#pragma once

#include "core/base/time.hpp"
#include "core/plan/placement_policy.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

struct HeftSchedule {
  std::vector<DeviceId> devices;
  std::vector<Duration> ends;  // of the ops, on idle links
  bool is_fastest = true;      // no op that it placed would take less time on another device
};

// What the choice of a device looks at.
enum class Sight : std::uint8_t {
  op,     // the end of the op
  ahead,  // the end of what follows it
};

// Takes ops in order of descending upward rank (mean op and transfer times over the devices that
// can run them). Each op gets the device that finishes it earliest, in the first gap that is long
// enough. Between waits, each window is placed by itself: its ops start when the windows before are
// done. O(n log n) for n ops and inputs; on many devices times what DeviceSearch takes.
//
// Looking ahead, an op gets the device from which the rest of its window can end earliest, if each
// op that follows is on its best one and only those wait that read each other: the optimistic costs
// of Arabnejad and Barbosa (List Scheduling Algorithm for Heterogeneous Systems by an Optimistic
// Cost Table, IEEE TPDS 25(3), 2014), between sorts of devices. Takes as many times longer as there
// are sorts, and 8 bytes for each op and sort; for so many that this is more than 128 MB it doesn't
// look ahead. Where all devices are alike, it changes nothing.
HeftSchedule heft_schedule(const PlacementRequest& request, Sight sight = Sight::op);

}  // namespace troupe
