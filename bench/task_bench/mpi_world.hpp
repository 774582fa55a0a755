// MPI's world of processes, for the peers that use it.
#pragma once

#include "core/patterns/dependence.hpp"

#include <cstdint>

namespace troupe::bench {

// MPI from construction to destruction, once per process. Calls must come from one thread at a
// time.
class MpiWorld {
 public:
  // Throws a run Error if MPI can't be used by several threads.
  MpiWorld();
  // A process that an exception ends doesn't finalize: mpirun then ends the others, which wait for
  // it.
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  // The process that computes a column.
  int rank_of(const Pattern& pattern, std::uint32_t column) const;
  // Blocks until every process has called it.
  void wait_for_all() const;

 private:
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace troupe::bench
