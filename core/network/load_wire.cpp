#include "core/network/load_wire.hpp"

#include "core/base/error.hpp"
#include "core/base/version.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

namespace troupe {
namespace {

using MakeWire = decltype(troupe_make_ucx_wire);
constexpr const char* module_file = "libtroupe_ucx.so";
constexpr const char* remedy =
    "install Troupe again, with the library of UCX (Debian: libucx0), or use a machine of one node";

// UCX reads its settings when it is loaded. What the user has set stays.
class SettingsWhileLoading {
 public:
  SettingsWhileLoading() {
    add("UCX_LOG_LEVEL", "fatal");
    // No signal handlers.
    add("UCX_HANDLE_ERRORS", "none");
    add("UCX_ERROR_SIGNALS", "");
    add("UCX_DEBUG_SIGNO", "0");
    // Functions of the C library, such as munmap, stay as they are.
    add("UCX_MEM_EVENTS", "no");
    add("UCX_MODULES", "none");   // for devices that no Wire uses
    add("UCX_VFS_ENABLE", "no");  // no thread that serves a file system for debugging
  }
  ~SettingsWhileLoading() {
    for (const char* const name : added_) unsetenv(name);
  }
  SettingsWhileLoading(const SettingsWhileLoading&) = delete;
  SettingsWhileLoading& operator=(const SettingsWhileLoading&) = delete;

 private:
  void add(const char* name, const char* value) {
    if (getenv(name) != nullptr) return;
    setenv(name, value, 0);
    added_.push_back(name);
  }

  std::vector<const char*> added_;
};

// The folder of the library or program that this function is in.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0) return {};
  return std::filesystem::path(info.dli_fname).parent_path();
}

// Beside libtroupe.so, else wherever the system looks for libraries of this program.
void* open_module() {
  const SettingsWhileLoading settings;
  const std::filesystem::path beside = own_folder() / module_file;
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(beside, ignored);
  void* const module =
      dlopen(is_there ? beside.c_str() : module_file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module != nullptr) return module;
  const char* const why = dlerror();
  throw run_error(fmt::format("what joins nodes can't be loaded: {}", why), remedy);
}

MakeWire* load() {
  void* const entry = dlsym(open_module(), "troupe_make_ucx_wire");
  if (entry == nullptr) {
    throw run_error(fmt::format("{} is not a part of Troupe", module_file), remedy);
  }
  return reinterpret_cast<MakeWire*>(entry);
}

}  // namespace

std::unique_ptr<Wire> load_ucx_wire(WireListener& listener, const UcxWireOptions& options) {
  static MakeWire* const make = load();
  const std::string own_version(version);
  std::unique_ptr<Wire> wire(make(own_version.c_str(), listener, options));
  if (wire == nullptr) {
    throw run_error(fmt::format("{} is not of Troupe {}", module_file, version), remedy);
  }
  return wire;
}

}  // namespace troupe
