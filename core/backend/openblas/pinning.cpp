#include "core/backend/openblas/pinning.hpp"

#include <algorithm>

#include <sched.h>

namespace troupe {

void pin_this_thread(std::span<const int> cores) {
  if (cores.empty()) return;
  const int core_max = *std::max_element(cores.begin(), cores.end());
  if (*std::min_element(cores.begin(), cores.end()) < 0) return;
  // Allocated, since cpu_set_t ends at 1024 cores.
  cpu_set_t* const set = CPU_ALLOC(core_max + 1);
  if (set == nullptr) return;
  const std::size_t size = CPU_ALLOC_SIZE(core_max + 1);
  CPU_ZERO_S(size, set);
  for (const int core : cores) CPU_SET_S(core, size, set);
  sched_setaffinity(0, size, set);
  CPU_FREE(set);
}

}  // namespace troupe
