// What one run of a part of an experiment came to.
#pragma once

namespace troupe::bench {

struct Timed {
  double seconds = 0;
  double bound_seconds = 0;        // no schedule can beat it, by the times of the ops; 0: unknown
  double host_seconds_per_op = 0;  // to enqueue an op; 0: wasn't measured
};

}  // namespace troupe::bench
