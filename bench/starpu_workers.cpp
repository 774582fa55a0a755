#include "bench/starpu_workers.hpp"

#include "core/base/error.hpp"

#include <cstddef>

namespace troupe::bench {

starpu_conf starpu_workers_on(const std::vector<int>& cores) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = static_cast<int>(cores.size());
  conf.ncuda = 0;
  conf.nopencl = 0;
  conf.calibrate = 0;
  conf.bus_calibrate = 0;
  conf.use_explicit_workers_bindid = 1;
  for (std::size_t w = 0; w < cores.size() && w < STARPU_NMAXWORKERS; ++w) {
    conf.workers_bindid[w] = static_cast<unsigned>(cores[w]);
  }
  return conf;
}

void check_starpu_workers(const std::vector<int>& cores) {
  // StarPU starts fewer workers if it finds fewer cores.
  if (starpu_cpu_worker_get_count() == cores.size()) return;
  throw run_error("StarPU did not start as many workers as asked for",
                  "use at most as many devices as there are cores");
}

StarpuWorkers::StarpuWorkers(const std::vector<int>& cores) {
  starpu_conf conf = starpu_workers_on(cores);
  if (starpu_init(&conf) != 0) throw run_error("StarPU could not be started");
  try {
    check_starpu_workers(cores);
  } catch (...) {
    starpu_shutdown();
    throw;
  }
}

StarpuWorkers::~StarpuWorkers() {
  starpu_shutdown();
}

}  // namespace troupe::bench
