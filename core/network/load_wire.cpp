#include "core/network/load_wire.hpp"

#include "core/base/error.hpp"
#include "core/base/module.hpp"
#include "core/base/version.hpp"

#include <string>
#include <vector>

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

MakeWire* load() {
  const SettingsWhileLoading settings;
  const OpenedModule module = open_module(module_file, "troupe_make_ucx_wire");
  if (module.entry != nullptr) return reinterpret_cast<MakeWire*>(module.entry);
  throw run_error(fmt::format("what joins nodes can't be loaded: {}", module.problem), remedy);
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
