// A oneTBB flow graph: a continue_node for each task, an edge for each dependence. The edges don't
// order a writer after the readers of an old payload, so every task has its own payload.
#include "bench/task_bench/peer.hpp"
#include "core/backend/openblas/pinning.hpp"

#include <deque>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>

namespace troupe::bench {
namespace {

namespace flow = oneapi::tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;

// Pins each thread that enters the arena.
class Pinning final : public oneapi::tbb::task_scheduler_observer {
 public:
  Pinning(oneapi::tbb::task_arena& arena, const std::vector<int>& cores)
      : oneapi::tbb::task_scheduler_observer(arena), cores_(cores) {
    observe(true);
  }
  ~Pinning() override { observe(false); }

  void on_scheduler_entry(bool) override {
    const auto slot =
        static_cast<std::size_t>(oneapi::tbb::this_task_arena::current_thread_index());
    if (slot < cores_.size()) pin_this_thread({cores_.data() + slot, 1});
  }

 private:
  const std::vector<int>& cores_;
};

Times measure(const Workload& workload) {
  const PointTask& task = workload.task;
  const std::size_t threads = workload.cores.size();
  const oneapi::tbb::global_control limit(oneapi::tbb::global_control::max_allowed_parallelism,
                                          threads);
  oneapi::tbb::task_arena arena(static_cast<int>(threads));
  const Pinning pinning(arena, workload.cores);
  FirstError error;
  Times times;
  arena.execute([&] {
    oneapi::tbb::parallel_for(std::size_t{0}, threads, [](std::size_t) {});  // starts the threads
    const Payloads payloads(task, task.pattern.steps);
    const Stopwatch build;
    flow::graph graph;
    std::deque<Node> nodes;  // nodes can't be moved
    std::vector<Node*> roots;
    for_each_point(task.pattern, [&](Point p) {
      Node& node = nodes.emplace_back(graph, [&task, &payloads, &error, p](flow::continue_msg) {
        error.guard([&] { payloads.carry_out(task, p); });
      });
      bool is_root = true;
      for_each_dependence(task.pattern, p.t, p.i, [&](std::uint32_t column) {
        flow::make_edge(nodes[task.pattern.first_of_row(p.t - 1) + column], node);
        is_root = false;
      });
      if (is_root) roots.push_back(&node);
    });
    times.build = build.elapsed();

    const Stopwatch run;
    for (Node* root : roots) root->try_put(flow::continue_msg());
    graph.wait_for_all();
    times.run = run.elapsed();
  });
  error.rethrow();
  return times;
}

}  // namespace

}  // namespace troupe::bench

troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}
