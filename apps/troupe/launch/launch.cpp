#include "apps/troupe/launch/launch.hpp"

#include "apps/troupe/launch/slurm_launch.hpp"
#include "core/base/error.hpp"
#include "core/base/module.hpp"

#include <cstdlib>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr const char* module_file = "libtroupe_pmix.so";

// A program of one process doesn't load PMIx.
std::unique_ptr<Launch> load_pmix_launch() {
  const OpenedModule module = open_module(module_file, "troupe_make_pmix_launch");
  if (module.entry == nullptr) {
    throw usage_error(fmt::format("what asks the launcher for the other ranks can't be loaded: {}",
                                  module.problem),
                      "build Troupe with PMIx (Debian: libpmix-dev), or use --nodes");
  }
  return std::unique_ptr<Launch>(
      reinterpret_cast<decltype(&troupe_make_pmix_launch)>(module.entry)());
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

bool is_launched() {
  return std::getenv("PMIX_RANK") != nullptr || std::getenv("SLURM_PROCID") != nullptr;
}

}  // namespace troupe
