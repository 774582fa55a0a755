#include "core/backend/cuda/load_cuda.hpp"

#include "core/base/version.hpp"

#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr const char* module_file = "libtroupe_cuda.so";

// The folder of the library or program that this function is in.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

LoadedCuda load() {
  const std::filesystem::path beside = own_folder() / module_file;
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(beside, ignored);
  void* const library =
      dlopen(is_there ? beside.c_str() : module_file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const std::string why = dlerror();
    if (why.starts_with(module_file)) {  // there is no such file
      return {.module = nullptr,
              .problem =
                  "this Troupe was built without CUDA; build it where the CUDA Toolkit is, "
                  "with -D TROUPE_CUDA=ON"};
    }
    return {.module = nullptr,
            .problem = fmt::format("{}; install CUDA's libraries (cudart, cuBLAS, cuSOLVER)", why)};
  }
  const auto entry =
      reinterpret_cast<decltype(&troupe_cuda_module)>(dlsym(library, "troupe_cuda_module"));
  const std::string own_version(version);
  const CudaModule* const module = entry != nullptr ? entry(own_version.c_str()) : nullptr;
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
