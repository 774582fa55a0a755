#include "bench/task_bench/starpu_points.hpp"

#include "core/base/error.hpp"

#include <span>

namespace troupe::bench {
namespace {

// On CPUs, the buffers are the payloads themselves.
void carry_out_task(void* buffers[], void* argument) {
  const auto& [shared, point] = *static_cast<const StarpuPoint*>(argument);
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

}  // namespace

StarpuPoints::StarpuPoints(const PointTask& task)
    : shared_{.task = task}, arguments_(task.pattern.points()) {
  handles_.resize(std::size_t{2} * task.pattern.width);
  for (std::uint32_t t = 0; t < 2; ++t) {
    for (std::uint32_t i = 0; i < task.pattern.width; ++i) {
      const std::span<std::byte> payload = shared_.payloads.of({t, i});
      starpu_variable_data_register(&handle({t, i}), STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(payload.data()),
                                    payload.size());
    }
  }
  starpu_codelet_init(&codelet_);
  codelet_.cpu_funcs[0] = carry_out_task;
  codelet_.nbuffers = STARPU_VARIABLE_NBUFFERS;
}

StarpuPoints::~StarpuPoints() {
  for (const starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
}

void StarpuPoints::check() const {
  shared_.error.rethrow();
  if (is_refused_) throw run_error("StarPU refused a task");
}

}  // namespace troupe::bench
