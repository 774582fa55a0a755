// StarPU: a data handle for each tile. Its scheduler is `lws` (work stealing with locality), the
// default, unless the environment variable STARPU_SCHED names another one. Priorities are those of
// the tasks of OpenMP.
#include "bench/cholesky/matrix.hpp"
#include "bench/starpu_workers.hpp"
#include "core/base/error.hpp"

#include <vector>

#include <starpu.h>

namespace troupe::bench {
namespace {

struct Argument {
  const TiledMatrix* matrix = nullptr;
  void (*call)(const Argument&);
  int priority = 0;
  int i = 0;
  int j = 0;
  int k = 0;
};

void carry_out(void**, void* argument) {
  const auto& a = *static_cast<const Argument*>(argument);
  a.call(a);
}

class Factorisation {
 public:
  Factorisation(const TiledMatrix& matrix, int extent) : matrix_(matrix) {
    const auto tiles = static_cast<std::size_t>(matrix.tiles());
    handles_.resize(tiles * tiles);
    for (int i = 0; i < matrix.tiles(); ++i) {
      for (int j = 0; j <= i; ++j) {
        const auto n = static_cast<std::uint32_t>(extent);
        starpu_matrix_data_register(&of(i, j), STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(matrix.tile(i, j)), n, n, n,
                                    sizeof(double));
      }
    }
    starpu_codelet_init(&codelet_);
    codelet_.cpu_funcs[0] = carry_out;
    codelet_.nbuffers = STARPU_VARIABLE_NBUFFERS;
  }
  ~Factorisation() {
    for (int i = 0; i < matrix_.tiles(); ++i) {
      for (int j = 0; j <= i; ++j) starpu_data_unregister(of(i, j));
    }
  }
  Factorisation(const Factorisation&) = delete;
  Factorisation& operator=(const Factorisation&) = delete;

  void run() {
    arguments_.clear();
    const int tiles = matrix_.tiles();
    arguments_.reserve(static_cast<std::size_t>(tiles * tiles * tiles));  // they must not move
    for (int k = 0; k < tiles; ++k) {
      insert({.call = [](const Argument& a) { a.matrix->potrf(a.k); }, .priority = 3, .k = k},
             {{of(k, k), rw}});
      for (int i = k + 1; i < tiles; ++i) {
        insert({.call = [](const Argument& a) { a.matrix->trsm(a.i, a.k); },
                .priority = 2,
                .i = i,
                .k = k},
               {{of(k, k), STARPU_R}, {of(i, k), rw}});
      }
      for (int i = k + 1; i < tiles; ++i) {
        insert({.call = [](const Argument& a) { a.matrix->syrk(a.i, a.k); },
                .priority = 1,
                .i = i,
                .k = k},
               {{of(i, k), STARPU_R}, {of(i, i), rw}});
        for (int j = k + 1; j < i; ++j) {
          insert({.call = [](const Argument& a) { a.matrix->gemm(a.i, a.j, a.k); },
                  .i = i,
                  .j = j,
                  .k = k},
                 {{of(i, k), STARPU_R}, {of(j, k), STARPU_R}, {of(i, j), rw}});
        }
      }
    }
    starpu_task_wait_for_all();
  }

 private:
  static constexpr starpu_data_access_mode rw = STARPU_RW;

  starpu_data_handle_t& of(int i, int j) {
    return handles_[static_cast<std::size_t>(i * matrix_.tiles() + j)];
  }

  void insert(Argument argument, std::vector<starpu_data_descr> buffers) {
    argument.matrix = &matrix_;
    Argument& kept = arguments_.emplace_back(argument);
    const int refused = starpu_task_insert(
        &codelet_, STARPU_DATA_MODE_ARRAY, buffers.data(), static_cast<int>(buffers.size()),
        STARPU_PRIORITY, kept.priority, STARPU_CL_ARGS_NFREE, &kept, sizeof kept, 0);
    if (refused != 0) throw run_error("StarPU refused a task");
  }

  const TiledMatrix& matrix_;
  std::vector<starpu_data_handle_t> handles_;
  std::vector<Argument> arguments_;
  starpu_codelet codelet_;
};

}  // namespace
}  // namespace troupe::bench

extern "C" double cholesky_measure(const troupe::bench::Problem& problem) {
  using namespace troupe::bench;
  TiledMatrix matrix(problem);
  const StarpuWorkers workers(problem.cores);
  Factorisation factorisation(matrix, problem.tile);
  return time_factorisation(matrix, {.factorise = [&] { factorisation.run(); }});
}
