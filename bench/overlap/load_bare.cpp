#include "bench/overlap/bare.hpp"
#include "core/base/error.hpp"

#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

const Bare* load() {
  const std::filesystem::path path =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gpu_overlap_bare.so";
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* const entry = module != nullptr ? dlsym(module, "gpu_overlap_bare") : nullptr;
  if (entry != nullptr) return reinterpret_cast<decltype(&gpu_overlap_bare)>(entry)();
  const char* const why = dlerror();
  throw run_error(
      fmt::format("the bare loops can't be loaded: {}", why != nullptr ? why : path.string()),
      "install CUDA's libraries (cudart, cuBLAS)");
}

}  // namespace

const Bare& load_bare() {
  static const Bare* const bare = load();
  return *bare;
}

}  // namespace troupe::bench
