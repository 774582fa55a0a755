// StarPU: a data handle for each payload, a task for each point. StarPU derives the dependences
// from the handles that tasks read and write, in the order of submission. It also orders each
// writer after the readers of the old payload, so two rows of payloads suffice. A handle for each
// task saves at most a fifth of the time, for twelve times the memory. Tasks are submitted while
// others run.
#include "bench/starpu_workers.hpp"
#include "bench/task_bench/peer.hpp"
#include "core/base/error.hpp"

#include <cstdint>
#include <vector>

#include <starpu.h>

namespace troupe::bench {
namespace {

struct Shared {
  const PointTask& task;
  const Payloads payloads{task, 2};
  FirstError error = {};
};

struct Argument {
  Shared* shared;
  Point point;
};

// `buffers` holds the inputs in order, then the output. On CPUs these are the payloads themselves.
void carry_out_task(void* buffers[], void* argument) {
  const auto& [shared, point] = *static_cast<const Argument*>(argument);
  shared->error.guard([&, s = shared, p = point] {
    const auto payload = [&](std::size_t k) {
      return std::span(reinterpret_cast<std::byte*>(STARPU_VARIABLE_GET_PTR(buffers[k])),
                       s->task.payload_bytes());
    };
    std::size_t inputs = 0;
    for_each_dependence(s->task.pattern, p.t, p.i, [&](std::uint32_t) { ++inputs; });
    carry_out(
        s->task, p,
        [&](std::size_t k, std::uint32_t) -> std::span<const std::byte> { return payload(k); },
        payload(inputs));
  });
}

class Handles {
 public:
  explicit Handles(const PointTask& task, const Payloads& payloads) : width_(task.pattern.width) {
    handles_.resize(std::size_t{2} * width_);
    for (std::uint32_t t = 0; t < 2; ++t) {
      for (std::uint32_t i = 0; i < width_; ++i) {
        const std::span<std::byte> payload = payloads.of({t, i});
        starpu_variable_data_register(&of({t, i}), STARPU_MAIN_RAM,
                                      reinterpret_cast<std::uintptr_t>(payload.data()),
                                      payload.size());
      }
    }
  }
  ~Handles() {
    for (const starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  starpu_data_handle_t& of(Point p) { return handles_[std::size_t{p.t % 2} * width_ + p.i]; }

 private:
  std::uint32_t width_;
  std::vector<starpu_data_handle_t> handles_;
};

Times measure(const Workload& workload) {
  const PointTask& task = workload.task;
  Shared shared{.task = task};
  const StarpuWorkers workers(workload.cores);
  Handles handles(task, shared.payloads);
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = carry_out_task;
  codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
  std::vector<Argument> arguments(task.pattern.points());
  std::vector<starpu_data_descr> buffers;

  const Stopwatch run;
  int refused = 0;
  for_each_point(task.pattern, [&](Point p) {
    buffers.clear();
    for_each_dependence(task.pattern, p.t, p.i, [&](std::uint32_t column) {
      buffers.push_back({handles.of({p.t - 1, column}), STARPU_R});
    });
    buffers.push_back({handles.of(p), STARPU_W});
    Argument& argument = arguments[task.pattern.first_of_row(p.t) + p.i];
    argument = {&shared, p};
    if (refused != 0) return;
    refused = starpu_task_insert(&codelet, STARPU_DATA_MODE_ARRAY, buffers.data(),
                                 static_cast<int>(buffers.size()), STARPU_CL_ARGS_NFREE, &argument,
                                 sizeof argument, 0);
  });
  starpu_task_wait_for_all();
  const Times times{.run = run.elapsed()};
  shared.error.rethrow();
  if (refused != 0) throw run_error("StarPU refused a task");
  return times;
}

}  // namespace

}  // namespace troupe::bench

extern "C" troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}
