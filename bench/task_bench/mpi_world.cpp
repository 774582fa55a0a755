#include "bench/task_bench/mpi_world.hpp"

#include "core/base/error.hpp"
#include "core/patterns/patterns.hpp"

#include <cstddef>
#include <exception>

#include <mpi.h>

namespace troupe::bench {

MpiWorld::MpiWorld() {
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  if (level < MPI_THREAD_SERIALIZED) throw run_error("MPI was built without threads");
}

MpiWorld::~MpiWorld() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

int MpiWorld::rank_of(const Pattern& pattern, std::uint32_t column) const {
  return static_cast<int>(block_of(column, pattern.width, static_cast<std::size_t>(size_)));
}

void MpiWorld::wait_for_all() const {
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace troupe::bench
