#include "core/base/module.hpp"

#include <filesystem>
#include <system_error>

#include <dlfcn.h>

namespace troupe {
namespace {

// The folder of the library or program that this function is in.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

}  // namespace

OpenedModule open_module(const char* file, const char* entry) {
  const std::filesystem::path beside = own_folder() / file;
  std::error_code ignored;
  const std::string path = std::filesystem::exists(beside, ignored) ? beside.string() : file;
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    const std::string why = dlerror();
    const bool is_missing = path == file && why.starts_with(file);
    return {.problem = why, .is_there = !is_missing};
  }
  void* const found = dlsym(module, entry);
  if (found == nullptr) return {.problem = std::string(file) + " is not a part of Troupe"};
  return {.entry = found, .problem = {}};
}

}  // namespace troupe
