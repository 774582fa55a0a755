#include "apps/troupe/launch/launch.hpp"

#include "apps/troupe/launch/slurm_launch.hpp"
#include "core/base/error.hpp"

#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr const char* module_file = "libtroupe_pmix.so";

// The module is beside libtroupe.so: a program of one process doesn't load PMIx.
std::unique_ptr<Launch> load_pmix_launch() {
  Dl_info library{};
  dladdr(reinterpret_cast<void*>(&system_message), &library);
  const std::filesystem::path path =
      std::filesystem::path(library.dli_fname).parent_path() / module_file;
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* const entry = module == nullptr ? nullptr : dlsym(module, "troupe_make_pmix_launch");
  if (entry == nullptr) {
    const char* const why = dlerror();
    throw usage_error(fmt::format("what asks the launcher for the other ranks can't be loaded: {}",
                                  why == nullptr ? module_file : why),
                      "build Troupe with PMIx (Debian: libpmix-dev), or use --nodes");
  }
  return std::unique_ptr<Launch>(reinterpret_cast<decltype(&troupe_make_pmix_launch)>(entry)());
}

}  // namespace

std::unique_ptr<Launch> find_launch() {
  std::unique_ptr<Launch> launch;
  if (std::getenv("PMIX_RANK") != nullptr) {
    launch = load_pmix_launch();
  } else {
    launch = find_slurm_launch();
  }
  return launch != nullptr && launch->rank().count > 1 ? std::move(launch) : nullptr;
}

}  // namespace troupe
