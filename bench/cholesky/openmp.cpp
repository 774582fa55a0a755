// OpenMP tasks with `depend` and `priority`, created in order by one thread while the other threads
// execute them.
#include "bench/cholesky/matrix.hpp"
#include "core/backend/openblas/pinning.hpp"

#include <omp.h>

namespace troupe::bench {
namespace {

// Creates all tasks. The nearer to the end of a column's dependences, the lower the priority.
void submit(const TiledMatrix& matrix) {
  const TiledMatrix* const m = &matrix;
  const int tiles = matrix.tiles();
  for (int k = 0; k < tiles; ++k) {
    [[maybe_unused]] double* const kk = m->tile(k, k);
#pragma omp task default(none) firstprivate(m, k) depend(inout : kk[0]) priority(3)
    m->potrf(k);
    for (int i = k + 1; i < tiles; ++i) {
      [[maybe_unused]] double* const ik = m->tile(i, k);
#pragma omp task default(none) firstprivate(m, i, k) depend(in                    \
                                                            : kk[0]) depend(inout \
                                                                            : ik[0]) priority(2)
      m->trsm(i, k);
    }
    for (int i = k + 1; i < tiles; ++i) {
      [[maybe_unused]] double* const ik = m->tile(i, k);
      [[maybe_unused]] double* const ii = m->tile(i, i);
#pragma omp task default(none) firstprivate(m, i, k) depend(in                    \
                                                            : ik[0]) depend(inout \
                                                                            : ii[0]) priority(1)
      m->syrk(i, k);
      for (int j = k + 1; j < i; ++j) {
        [[maybe_unused]] double* const jk = m->tile(j, k);
        [[maybe_unused]] double* const ij = m->tile(i, j);
#pragma omp task default(none) firstprivate(m, i, j, k) depend(in                           \
                                                               : ik[0], jk[0]) depend(inout \
                                                                                      : ij[0])
        m->gemm(i, j, k);
      }
    }
  }
}

}  // namespace
}  // namespace troupe::bench

extern "C" double cholesky_measure(const troupe::bench::Problem& problem) {
  using namespace troupe::bench;
  TiledMatrix matrix(problem);
  const auto threads = static_cast<int>(problem.cores.size());
  omp_set_dynamic(0);
#pragma omp parallel num_threads(threads)
  troupe::pin_this_thread({problem.cores.data() + omp_get_thread_num(), 1});
  return time_factorisation(matrix, {.factorise = [&] {
#pragma omp parallel num_threads(threads)
#pragma omp single
                              submit(matrix);
                            }});
}
