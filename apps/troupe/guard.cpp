#include "apps/troupe/guard.hpp"

#include "core/base/units.hpp"
#include "core/machine/host_memory.hpp"

#include <fmt/format.h>

namespace troupe {

Error out_of_memory(ErrorKind kind, const std::string& phase) {
  return Error(kind, {},
               fmt::format("{} needs more memory than the {} that this process may have", phase,
                           format_bytes(host_memory().total_bytes)),
               "make the file's graph smaller, or raise the limit (ulimit -v)");
}

Error refused_by_system(ErrorKind kind, const std::string& phase, const std::system_error& cause) {
  const bool lacks_threads = cause.code() == std::errc::resource_unavailable_try_again;
  return Error(kind, {}, fmt::format("{} failed: {}", phase, cause.what()),
               lacks_threads ? "raise the limit of threads (ulimit -u)" : "");
}

}  // namespace troupe
