// The matrix products of OpenBLAS, loaded when the first one is computed.
#pragma once

#include <cblas.h>

namespace troupe {

// OpenBLAS starts a thread for each core when it is loaded, and those spin for some hundredth of a
// second: a simulation, or a run of other ops, does without them and without the library. It is
// loaded single-threaded: a device's team is the parallelism, threads of OpenBLAS's own would be
// unpinned and shared by all devices.
struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;

  // Loads the library at the first call; blocks for some milliseconds then. Throws a run Error
  // where it isn't there.
  static const Blas& instance();
};

}  // namespace troupe
