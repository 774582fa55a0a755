#include "core/backend/cuda/load_cuda.hpp"

#include "core/base/module.hpp"
#include "core/base/version.hpp"

#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr const char* module_file = "libtroupe_cuda.so";

LoadedCuda load() {
  // Streams beyond this number share queues of the hardware, and then wait for each other. The
  // default is 8: two devices on one GPU have more. The driver reads it when it starts.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const OpenedModule opened = open_module(module_file, "troupe_cuda_module");
  if (!opened.is_there) {
    return {.module = nullptr,
            .problem =
                "this Troupe was built without CUDA; build it where the CUDA Toolkit is, "
                "with -D TROUPE_CUDA=ON"};
  }
  if (opened.entry == nullptr) {
    return {.module = nullptr,
            .problem = fmt::format("{}; install CUDA's libraries (cudart, cuBLAS, cuSOLVER)",
                                   opened.problem)};
  }
  const auto entry = reinterpret_cast<decltype(&troupe_cuda_module)>(opened.entry);
  const std::string own_version(version);
  const CudaModule* const module = entry(own_version.c_str());
  if (module == nullptr) {
    return {.module = nullptr,
            .problem =
                fmt::format("{} is not of Troupe {}; install Troupe again", module_file, version)};
  }
  return {.module = module, .problem = {}};
}

}  // namespace

const LoadedCuda& load_cuda() {
  static const LoadedCuda loaded = load();
  return loaded;
}

}  // namespace troupe
