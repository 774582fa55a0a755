#include "core/ops/op_library.hpp"

#include "core/base/error.hpp"

#include <string>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>

namespace troupe {
namespace {

// Versions that differ only in the patch are compatible.
std::string_view interface_of(std::string_view of) {
  return of.substr(0, of.rfind('.'));
}

}  // namespace

void load_op_library(const std::filesystem::path& library, OpRegistry& registry) {
  const SourcePlace place{.file = library.string()};
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(library, ignored)) {
    throw usage_error(place, "there is no such file", "check the path of the library of ops");
  }
  // A path, so that no other folder is searched.
  const std::filesystem::path path = std::filesystem::absolute(library);
  std::string missing;  // functions, maybe since another version of Troupe had them
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    missing = dlerror();
    loaded = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  }
  if (loaded == nullptr) {
    throw usage_error(place, fmt::format("could not load the library of ops: {}", dlerror()),
                      fmt::format("build it as a shared library for Troupe {}", version));
  }
  const auto* const ops = static_cast<const OpLibrary*>(dlsym(loaded, "troupe_op_library"));
  if (ops == nullptr || ops->version == nullptr || ops->add == nullptr) {
    throw usage_error(place, "this is no library of ops: it lacks the symbol troupe_op_library",
                      "add the ops in TROUPE_OPS(registry) { … }");
  }
  if (interface_of(ops->version) != interface_of(version)) {
    throw usage_error(place,
                      fmt::format("the library of ops was built for Troupe {}, and this is {}",
                                  ops->version, version),
                      "build it anew with the headers of this version");
  }
  if (!missing.empty()) {
    throw usage_error(place, fmt::format("could not load the library of ops: {}", missing),
                      "link it to what it uses");
  }
  try {
    ops->add(registry);
  } catch (const Error& error) {
    throw error.at(place);
  } catch (const std::exception& error) {
    throw usage_error(place, fmt::format("it could not add its ops: {}", error.what()),
                      "see what its TROUPE_OPS does");
  } catch (...) {
    throw usage_error(place, "it could not add its ops: it threw what is no std::exception",
                      "see what its TROUPE_OPS does");
  }
}

}  // namespace troupe
