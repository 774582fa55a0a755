// No runtime: two nested loops on one thread. Two rows of payloads suffice, since each row is
// complete before the next one begins.
#include "bench/task_bench/peer.hpp"
#include "core/backend/openblas/pinning.hpp"

namespace troupe::bench {
namespace {

Times measure(const Workload& workload) {
  const PointTask& task = workload.task;
  const Payloads payloads(task, 2);
  pin_this_thread({workload.cores.data(), 1});
  const Stopwatch run;
  for_each_point(task.pattern, [&](Point p) { payloads.carry_out(task, p); });
  return {.run = run.elapsed()};
}

}  // namespace

Measure sequential_runtime() {
  return measure;
}

}  // namespace troupe::bench
