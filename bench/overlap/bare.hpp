// What the GPU does in plain loops of CUDA and cuBLAS, without Troupe. It is in a module of its
// own, so that the program starts on machines without CUDA.
#pragma once

#include "bench/overlap/sizes.hpp"

#include <string>

namespace troupe::bench {

// Each function works on the first GPU, allocates before its clock starts, and blocks. Returns
// seconds, from the first call to the end of all work. Throws a run Error if CUDA fails.
class Bare {
 public:
  virtual ~Bare() = default;
  struct Versions {
    int driver = 0;   // the latest CUDA that the driver knows: 13000 for 13.0
    int runtime = 0;  // of the CUDA runtime that was loaded
    int capability_major = 0;
    int capability_minor = 0;
  };
  virtual Versions versions() const = 0;
  // Products of two matrices on one stream, by cuBLAS.
  virtual double products(const Products& products) const = 0;
  // The same, and how long the host took to enqueue the first of them, so few that the queue of the
  // stream had room for all.
  struct Issue {
    double seconds = 0;
    double host_seconds_per_op = 0;
  };
  virtual Issue issue(const Products& products) const = 0;
  enum class Way { to_host, to_gpu, both };
  // Copies between the GPU's memory and pinned memory, on a stream for each direction.
  virtual double copies(const Products& sizes, Way way) const = 0;
};

// Loads the module, which is in the folder of the program. Throws a run Error if it can't be
// loaded.
const Bare& load_bare();

}  // namespace troupe::bench

// The entry of the module.
extern "C" const troupe::bench::Bare* gpu_overlap_bare();
