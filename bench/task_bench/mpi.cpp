// Open MPI without a runtime above it: each process computes its block of columns, row by row, and
// exchanges payloads by point-to-point messages, as Task Bench's own MPI program does. A payload is
// sent once to each process that reads it. Who sends what is found out before the run.
//
// A process has slots for the payloads of all columns, and uses its own and those that it reads.
// Two rows of them suffice: all messages of a row have completed before the next row is computed.
#include "bench/task_bench/mpi_world.hpp"
#include "bench/task_bench/peer.hpp"
#include "core/backend/openblas/pinning.hpp"
#include "core/base/error.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include <mpi.h>

namespace troupe::bench {
namespace {

// A payload of the row before, which goes to or comes from another process.
struct Message {
  std::uint32_t column = 0;
  int other = 0;  // rank
  friend auto operator<=>(const Message&, const Message&) = default;
};

// What a process sends and receives before it computes a row.
struct Exchange {
  std::vector<Message> sends;
  std::vector<Message> receives;
};

void keep_one_of_each(std::vector<Message>& messages) {
  std::sort(messages.begin(), messages.end());
  messages.erase(std::unique(messages.begin(), messages.end()), messages.end());
}

// By row.
std::vector<Exchange> plan_exchanges(const Pattern& pattern, const MpiWorld& world) {
  std::vector<Exchange> rows(pattern.steps);
  for_each_point(pattern, [&](Point p) {
    const int reader = world.rank_of(pattern, p.i);
    for_each_dependence(pattern, p.t, p.i, [&](std::uint32_t column) {
      const int writer = world.rank_of(pattern, column);
      if (reader == writer) return;
      if (writer == world.rank()) rows[p.t].sends.push_back({column, reader});
      if (reader == world.rank()) rows[p.t].receives.push_back({column, writer});
    });
  });
  for (Exchange& row : rows) {
    keep_one_of_each(row.sends);
    keep_one_of_each(row.receives);
  }
  return rows;
}

void exchange(const Exchange& messages, std::uint32_t row, const Payloads& payloads,
              std::vector<MPI_Request>& requests) {
  requests.clear();
  const auto payload = [&](const Message& m) { return payloads.of({row, m.column}); };
  for (const Message& m : messages.receives) {
    const std::span<std::byte> to = payload(m);
    MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_BYTE, m.other, static_cast<int>(m.column),
              MPI_COMM_WORLD, &requests.emplace_back());
  }
  for (const Message& m : messages.sends) {
    const std::span<std::byte> from = payload(m);
    MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_BYTE, m.other,
              static_cast<int>(m.column), MPI_COMM_WORLD, &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// This process's part of the pattern.
void carry_out_part(const PointTask& task, const MpiWorld& world,
                    const std::vector<Exchange>& exchanges, const Payloads& payloads) {
  const Pattern& pattern = task.pattern;
  std::vector<std::uint32_t> columns;
  for (std::uint32_t i = 0; i < pattern.width; ++i) {
    if (world.rank_of(pattern, i) == world.rank()) columns.push_back(i);
  }
  std::vector<MPI_Request> requests;
  for (std::uint32_t t = 0; t < pattern.steps; ++t) {
    if (t > 0) exchange(exchanges[t], t - 1, payloads, requests);
    for (const std::uint32_t i : columns) {
      if (i < pattern.points_of_row(t)) payloads.carry_out(task, {t, i});
    }
  }
}

Times measure(const Workload& workload) {
  const PointTask& task = workload.task;
  if (task.payload_bytes() > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw usage_error("MPI sends no more than 2 GiB in one message", "make smaller payloads");
  }
  const MpiWorld world;
  pin_this_thread({workload.cores.data() + world.rank(), 1});
  const Payloads payloads(task, 2);
  Times times;
  const Stopwatch build;
  const std::vector<Exchange> exchanges = plan_exchanges(task.pattern, world);
  times.build = build.elapsed();
  world.wait_for_all();
  const Stopwatch run;
  carry_out_part(task, world, exchanges, payloads);
  times.run = run.elapsed();
  return times;
}

}  // namespace

}  // namespace troupe::bench

troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}
