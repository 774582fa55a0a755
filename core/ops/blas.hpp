// The matrix products of OpenBLAS. The library is loaded when the first product is computed.
#pragma once

#include <cblas.h>

namespace troupe {

// Loaded only when needed: at load, OpenBLAS by default starts a thread for each core, and these
// threads spin for about 10 ms. Simulations and runs without matmul don't load the library. It is
// loaded single-threaded: the device's team computes panels in parallel, while OpenBLAS's own
// threads would be unpinned and shared by all devices.
struct Blas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;

  // The first call loads the library and blocks for some milliseconds. Throws a run Error if the
  // library can't be loaded. Thread-safe.
  static const Blas& instance();
};

}  // namespace troupe
