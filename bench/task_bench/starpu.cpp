// StarPU on one host. Tasks are submitted while others run.
#include "bench/starpu_workers.hpp"
#include "bench/task_bench/peer.hpp"
#include "bench/task_bench/starpu_points.hpp"

namespace troupe::bench {
namespace {

Times measure(const Workload& workload) {
  const StarpuWorkers workers(workload.cores);
  StarpuPoints points(workload.task);
  const Stopwatch run;
  points.submit_all([](starpu_codelet* codelet, auto& buffers, auto* argument) {
    return starpu_task_insert(codelet, STARPU_DATA_MODE_ARRAY, buffers.data(),
                              static_cast<int>(buffers.size()), STARPU_CL_ARGS_NFREE, argument,
                              sizeof *argument, 0);
  });
  starpu_task_wait_for_all();
  const Times times{.run = run.elapsed()};
  points.check();
  return times;
}

}  // namespace

}  // namespace troupe::bench

troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}
