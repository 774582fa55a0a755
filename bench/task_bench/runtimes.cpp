#include "bench/task_bench/runtime.hpp"

#include <array>

namespace troupe::bench {

std::span<const Runtime> runtimes() {
  static const std::array table{
      Runtime{.name = "troupe",
              .summary = "actors on this machine's cores",
              .measure = troupe_runtime()},
      Runtime{.name = "simulate",
              .summary = "the same actors under virtual time",
              .computes = false,
              .measure = simulate_runtime()},
      Runtime{.name = "sequential",
              .summary = "two nested loops: the floor",
              .serial = true,
              .measure = sequential_runtime()},
      Runtime{.name = "tbb",
              .summary = "oneTBB flow graph",
              .package = "libtbb-dev",
              .measure = tbb_runtime()},
      Runtime{.name = "openmp",
              .summary = "OpenMP tasks with depend clauses",
              .package = "libgomp1",
              .measure = openmp_runtime()},
      Runtime{.name = "starpu",
              .summary = "StarPU tasks on data handles",
              .package = "libstarpu-dev",
              .measure = starpu_runtime()},
      Runtime{.name = "simgrid",
              .summary = "SimGrid s4u activities",
              .package = "libsimgrid-dev",
              .computes = false,
              .measure = simgrid_runtime()},
  };
  return table;
}

}  // namespace troupe::bench
