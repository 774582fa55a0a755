// Dask: dask_cluster.py in a process of its own, which starts a worker process for each node.
// The workers load this module, too, so that points are the same function as everywhere.
#include "bench/task_bench/peer.hpp"
#include "core/base/error.hpp"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

// What the program in Python passes on without looking into it.
static_assert(std::is_trivially_copyable_v<PointTask>);
std::string to_hex(const PointTask& task) {
  std::string text;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&task);
  for (std::size_t k = 0; k < sizeof task; ++k) text += fmt::format("{:02x}", bytes[k]);
  return text;
}

std::filesystem::path this_module() {
  Dl_info found{};
  dladdr(reinterpret_cast<const void*>(&task_bench_measure), &found);
  return found.dli_fname;
}

struct Output {
  std::string text;
  bool has_succeeded = false;
};

Output output_of(const std::string& command) {
  Output output;
  std::FILE* const from = popen(command.c_str(), "r");
  if (from == nullptr) throw run_error("the system refuses another process");
  for (int c = std::fgetc(from); c != EOF; c = std::fgetc(from)) {
    output.text += static_cast<char>(c);
  }
  output.has_succeeded = pclose(from) == 0;
  return output;
}

Times measure(const Workload& workload) {
  const std::filesystem::path module = this_module();
  const std::filesystem::path program = module.parent_path() / "dask_cluster.py";
  const PointTask& task = workload.task;
  const Output output = output_of(fmt::format(
      "exec {} '{}' '{}' {} {} {} {}", PYTHON, program.string(), module.string(), to_hex(task),
      task.pattern.width, task.pattern.steps, fmt::join(workload.cores, ",")));
  long long build_ns = 0;
  long long run_ns = 0;
  if (!output.has_succeeded ||
      std::sscanf(output.text.c_str(), "%lld %lld", &build_ns, &run_ns) != 2) {
    throw run_error("the program in Python failed", "see what it says above");
  }
  return {.build = Duration{build_ns}, .run = Duration{run_ns}};
}

}  // namespace
}  // namespace troupe::bench

troupe::bench::Times task_bench_measure(const troupe::bench::Workload& workload) {
  return troupe::bench::measure(workload);
}

// For dask_cluster.py. `task` is what it was given.
extern "C" {

std::uint64_t task_bench_payload_bytes(const troupe::PointTask* task) {
  return task->payload_bytes();
}

std::uint32_t task_bench_points_of_row(const troupe::PointTask* task, std::uint32_t t) {
  return task->pattern.points_of_row(t);
}

// Writes the columns that a point reads; there are at most `width`. Returns how many.
std::uint32_t task_bench_dependences(const troupe::PointTask* task, std::uint32_t t,
                                     std::uint32_t i, std::uint32_t* columns) {
  std::uint32_t count = 0;
  troupe::for_each_dependence(task->pattern, t, i,
                              [&](std::uint32_t column) { columns[count++] = column; });
  return count;
}

// Executes a point. Returns null, or what is wrong, until this thread's next call.
const char* task_bench_carry_out(const troupe::PointTask* task, std::uint32_t t, std::uint32_t i,
                                 const std::byte* const* inputs, std::byte* output) {
  thread_local std::string problem;
  try {
    const std::size_t bytes = task->payload_bytes();
    troupe::carry_out(
        *task, {t, i}, [&](std::size_t k, std::uint32_t) { return std::span(inputs[k], bytes); },
        std::span(output, bytes));
    return nullptr;
  } catch (const std::exception& error) {
    problem = error.what();
    return problem.c_str();
  }
}

}  // extern "C"
