// StarPU-MPI: every process submits all tasks and executes those of its block of columns; the
// library finds out who sends which payload to whom. A process has one worker and, on the same
// core, the library's thread for messages.
#include "bench/starpu_workers.hpp"
#include "bench/task_bench/mpi_world.hpp"
#include "bench/task_bench/peer.hpp"
#include "bench/task_bench/starpu_points.hpp"
#include "core/base/error.hpp"

#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <starpu_mpi.h>
#include <stdlib.h>

namespace troupe::bench {
namespace {

class StarpuMpi {
 public:
  StarpuMpi(const MpiWorld& world, const std::vector<int>& cores) {
    // The processes must not write the same files about the machine.
    setenv("STARPU_HOSTNAME", fmt::format("node{}", world.rank()).c_str(), 1);
    // Else the threads for messages of all processes are on one core.
    setenv("STARPU_MPI_THREAD_CPUID", fmt::format("{}", cores.at(0)).c_str(), 1);
    starpu_conf conf = starpu_workers_on(cores);
    if (starpu_mpi_init_conf(nullptr, nullptr, 0, MPI_COMM_WORLD, &conf) != 0) {
      throw run_error("StarPU-MPI could not be started");
    }
    check_starpu_workers(cores);
  }
  ~StarpuMpi() { starpu_mpi_shutdown(); }
  StarpuMpi(const StarpuMpi&) = delete;
  StarpuMpi& operator=(const StarpuMpi&) = delete;
};

// Which process has which payloads.
void share(StarpuPoints& points, const Pattern& pattern, const MpiWorld& world) {
  for (std::uint32_t t = 0; t < 2; ++t) {
    for (std::uint32_t i = 0; i < pattern.width; ++i) {
      starpu_mpi_data_register(points.handle({t, i}), std::int64_t{t} * pattern.width + i,
                               world.rank_of(pattern, i));
    }
  }
}

Times measure(const Workload& workload) {
  const MpiWorld world;
  const StarpuMpi workers(world, {workload.cores[static_cast<std::size_t>(world.rank())]});
  StarpuPoints points(workload.task);
  share(points, workload.task.pattern, world);
  starpu_mpi_barrier(MPI_COMM_WORLD);
  const Stopwatch run;
  points.submit_all([](starpu_codelet* codelet, auto& buffers, auto* argument) {
    return starpu_mpi_task_insert(MPI_COMM_WORLD, codelet, STARPU_DATA_MODE_ARRAY, buffers.data(),
                                  static_cast<int>(buffers.size()), STARPU_CL_ARGS_NFREE, argument,
                                  sizeof *argument, 0);
  });
  starpu_mpi_wait_for_all(MPI_COMM_WORLD);
  const Times times{.run = run.elapsed()};
  points.check();
  return times;
}

}  // namespace

}  // namespace troupe::bench

troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}
