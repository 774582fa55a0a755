// MPI's world of processes, for the peers that use it.
#pragma once

#include "core/base/error.hpp"
#include "core/patterns/patterns.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>

#include <mpi.h>

namespace troupe::bench {

// MPI from construction to destruction, once per process. Calls must come from one thread at a
// time.
class MpiWorld {
 public:
  MpiWorld() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (level < MPI_THREAD_SERIALIZED) throw run_error("MPI was built without threads");
  }
  // A process that an exception ends doesn't finalize: mpirun then ends the others, which wait for
  // it.
  ~MpiWorld() {
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  // The process that computes a column.
  int rank_of(const Pattern& pattern, std::uint32_t column) const {
    return static_cast<int>(block_of(column, pattern.width, static_cast<std::size_t>(size_)));
  }
  // Blocks until every process has called it.
  void wait_for_all() const { MPI_Barrier(MPI_COMM_WORLD); }

 private:
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace troupe::bench
