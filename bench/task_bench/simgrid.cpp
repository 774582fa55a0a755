// Activities of SimGrid's s4u interface: an Exec of 1 us for each task, with a dependence for each
// task that it reads. Columns are assigned to hosts as in Troupe's simulation. No data is sent, as
// if all hosts shared a memory. Tasks do nothing, and there are no payloads to check.
#include "bench/task_bench/peer.hpp"
#include "core/base/error.hpp"
#include "core/patterns/patterns.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>

namespace troupe::bench {
namespace {

namespace s4u = simgrid::s4u;

constexpr double host_flops = 1e9;
constexpr double task_flops = 1e3;

Times measure(const Workload& workload) {
  const Pattern& pattern = workload.task.pattern;
  // SimGrid allows one engine per process.
  std::string name = "task_bench";
  std::string quiet = "--log=root.thres:warning";
  char* arguments[] = {name.data(), quiet.data(), nullptr};
  int count = 2;
  static s4u::Engine engine(&count, arguments);
  auto* zone = s4u::create_full_zone("machine");
  std::vector<s4u::Host*> hosts;
  for (std::size_t d = 0; d < workload.cores.size(); ++d) {
    hosts.push_back(zone->create_host(fmt::format("cpu{}", d), host_flops));
  }
  zone->seal();

  Times times;
  const Stopwatch build;
  std::vector<s4u::ExecPtr> execs;
  execs.reserve(pattern.points());
  for_each_point(pattern, [&](Point p) {
    const s4u::ExecPtr exec = s4u::Exec::init();
    exec->set_flops_amount(task_flops);
    exec->set_host(hosts[block_of(p.i, pattern.width, hosts.size())]);
    for_each_dependence(pattern, p.t, p.i, [&](std::uint32_t column) {
      execs[pattern.first_of_row(p.t - 1) + column]->add_successor(exec);
    });
    execs.push_back(exec);
  });
  times.build = build.elapsed();

  const Stopwatch run;
  for (const s4u::ExecPtr& exec : execs) exec->vetoable_start();
  engine.run();
  times.run = run.elapsed();
  for (const s4u::ExecPtr& exec : execs) {
    if (exec->get_state() != s4u::Activity::State::FINISHED) {
      throw run_error("SimGrid left an activity unfinished");
    }
  }
  return times;
}

}  // namespace

}  // namespace troupe::bench

troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}
