#include "bench/task_bench/runtime.hpp"
#include "core/base/error.hpp"

#include <array>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

// The path of a runtime's module, which is in the folder of the program.
std::filesystem::path module_of(const Runtime& runtime) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         fmt::format("task_bench_{}.so", runtime.name);
}

}  // namespace

bool is_there(const Runtime& runtime) {
  return runtime.measure != nullptr || std::filesystem::exists(module_of(runtime));
}

Measure load_measure(const Runtime& runtime) {
  void* const module = dlopen(module_of(runtime).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const measure = module != nullptr ? dlsym(module, "task_bench_measure") : nullptr;
  if (measure != nullptr) return reinterpret_cast<Measure>(measure);
  const char* const why = dlerror();
  throw run_error(fmt::format("{} can't be loaded: {}", runtime.name,
                              why != nullptr ? why : module_of(runtime).string()),
                  "run tools/bench, which installs it");
}

std::span<const Runtime> runtimes() {
  static const std::array table{
      Runtime{.name = "troupe",
              .summary = "actors on this machine's cores",
              .measure = troupe_runtime()},
      Runtime{.name = "simulate",
              .summary = "the same actors under virtual time",
              .computes = false,
              .measure = simulate_runtime()},
      Runtime{.name = "sequential",
              .summary = "two nested loops: the floor",
              .serial = true,
              .measure = sequential_runtime()},
      Runtime{.name = "tbb", .summary = "oneTBB flow graph", .package = "libtbb-dev"},
      Runtime{
          .name = "openmp", .summary = "OpenMP tasks with depend clauses", .package = "libgomp1"},
      Runtime{
          .name = "starpu", .summary = "StarPU tasks on data handles", .package = "libstarpu-dev"},
      Runtime{.name = "simgrid",
              .summary = "SimGrid s4u activities",
              .package = "libsimgrid-dev",
              .computes = false},
  };
  return table;
}

}  // namespace troupe::bench
