// OpenMP tasks with `depend`, created in order by one thread while the other threads execute them.
// As in Task Bench itself, every task has its own payload. With fewer payloads, the clauses would
// also have to order each writer after the readers of the old payload.
#include "bench/task_bench/peer.hpp"
#include "core/backend/openblas/pinning.hpp"

#include <vector>

#include <omp.h>

namespace troupe::bench {
namespace {

struct Shared {
  const PointTask& task;
  const Payloads payloads{task, task.pattern.steps};
  FirstError error = {};
};

// maybe_unused: GCC 12 doesn't see that the clauses use `in` and `out`.
void submit(Shared* s, Point p, [[maybe_unused]] std::byte** in, std::size_t inputs,
            [[maybe_unused]] std::byte* out) {
// clang-format off
#pragma omp task default(none) firstprivate(s, p) shared(in, inputs, out) \
    depend(iterator(std::size_t k = 0 : inputs), in : in[k][0]) depend(out : out[0])
  // clang-format on
  s->error.guard([s, p] { s->payloads.carry_out(s->task, p); });
}

// Creates the tasks of the whole pattern.
void submit_all(Shared& shared) {
  const Pattern& pattern = shared.task.pattern;
  std::vector<std::byte*> read;
  for_each_point(pattern, [&](Point p) {
    read.clear();
    for_each_dependence(pattern, p.t, p.i, [&](std::uint32_t column) {
      read.push_back(shared.payloads.of({p.t - 1, column}).data());
    });
    submit(&shared, p, read.data(), read.size(), shared.payloads.of(p).data());
  });
}

Times measure(const Workload& workload) {
  Shared shared{.task = workload.task};
  const auto threads = static_cast<int>(workload.cores.size());
  omp_set_dynamic(0);
#pragma omp parallel num_threads(threads)
  pin_this_thread({workload.cores.data() + omp_get_thread_num(), 1});

  const Stopwatch run;
#pragma omp parallel num_threads(threads)
#pragma omp single
  submit_all(shared);
  const Times times{.run = run.elapsed()};
  shared.error.rethrow();
  return times;
}

}  // namespace

}  // namespace troupe::bench

troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}
