#include "bench/task_bench/runtime.hpp"
#include "core/base/error.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

constexpr std::string_view mpi_packages = "libopenmpi-dev and openmpi-bin";
constexpr std::string_view starpu_mpi_packages = "libstarpu-dev, libopenmpi-dev and openmpi-bin";

// The path of a runtime's module, which is in the folder of the program.
std::filesystem::path module_of(const Runtime& runtime) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() /
         fmt::format("task_bench_{}.so", runtime.module.empty() ? runtime.name : runtime.module);
}

// Point-to-point messages by `transport`, one of Open MPI's byte transfer layers. Every process
// pins itself. mpirun counts this host's cores, and there may be more processes than cores.
std::vector<std::string> mpirun(std::size_t nodes, std::string_view transport) {
  return {"mpirun",
          "-n",
          std::to_string(nodes),
          "--quiet",
          "--oversubscribe",
          "--bind-to",
          "none",
          "--mca",
          "pml",
          "ob1",
          "--mca",
          "btl",
          fmt::format("self,{}", transport),
          "--mca",
          "btl_tcp_if_include",
          "lo",
          "--mca",
          "oob_tcp_if_include",
          "lo"};
}
std::vector<std::string> mpirun_tcp(std::size_t nodes) {
  return mpirun(nodes, "tcp");
}
std::vector<std::string> mpirun_shared_memory(std::size_t nodes) {
  return mpirun(nodes, "vader");
}
// For processes of several threads on one core: whoever waits for a message yields to the others.
std::vector<std::string> yielding(std::vector<std::string> words) {
  words.insert(words.end(), {"--mca", "mpi_yield_when_idle", "1"});
  return words;
}
std::vector<std::string> mpirun_tcp_yielding(std::size_t nodes) {
  return yielding(mpirun_tcp(nodes));
}
std::vector<std::string> mpirun_shared_memory_yielding(std::size_t nodes) {
  return yielding(mpirun_shared_memory(nodes));
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
      Runtime{.name = "troupe", .measure = troupe_runtime()},
      Runtime{.name = "simulate", .computes = false, .measure = simulate_runtime()},
      Runtime{.name = "sequential", .serial = true, .measure = sequential_runtime()},
      Runtime{.name = "tbb", .package = "libtbb-dev"},
      Runtime{.name = "openmp", .package = "libgomp1"},
      Runtime{.name = "starpu", .package = "libstarpu-dev"},
      Runtime{.name = "simgrid", .package = "libsimgrid-dev", .computes = false},
      Runtime{.name = "troupe-tcp", .on_nodes = true, .measure = troupe_tcp_runtime()},
      Runtime{.name = "troupe-shm", .on_nodes = true, .measure = troupe_shared_memory_runtime()},
      Runtime{.name = "mpi-tcp",
              .package = mpi_packages,
              .module = "mpi",
              .on_nodes = true,
              .launcher = mpirun_tcp},
      Runtime{.name = "mpi-shm",
              .package = mpi_packages,
              .module = "mpi",
              .on_nodes = true,
              .launcher = mpirun_shared_memory},
      Runtime{.name = "starpu-mpi-tcp",
              .package = starpu_mpi_packages,
              .module = "starpu_mpi",
              .on_nodes = true,
              .launcher = mpirun_tcp_yielding},
      Runtime{.name = "starpu-mpi-shm",
              .package = starpu_mpi_packages,
              .module = "starpu_mpi",
              .on_nodes = true,
              .launcher = mpirun_shared_memory_yielding},
      Runtime{.name = "dask", .package = "python3-distributed", .on_nodes = true},
  };
  return table;
}

}  // namespace troupe::bench
