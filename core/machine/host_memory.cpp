#include "core/machine/host_memory.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

// The number after `key` at the start of a line, as in "MemTotal:  24682416 kB".
std::optional<std::uint64_t> number_after(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  std::string word;
  while (in >> word) {
    std::uint64_t n = 0;
    if (word == key && in >> n) return n;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// The number that a file holds; none where it isn't there or says "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t n = 0;
  if (in >> n) return n;
  return std::nullopt;
}

// The names under which the two versions of cgroups keep the same figures.
struct CgroupFiles {
  const char* mount;
  const char* limit;
  const char* usage;
  const char* reclaimable;  // a row of memory.stat: file pages that would go first
};
constexpr CgroupFiles v1{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                         "total_inactive_file"};
constexpr CgroupFiles v2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

void apply_limit(const fs::path& group, const CgroupFiles& files, HostMemory& memory) {
  const auto limit = number_in(group / files.limit);
  if (!limit) return;
  const std::uint64_t usage = number_in(group / files.usage).value_or(0);
  const std::uint64_t cached = number_after(group / "memory.stat", files.reclaimable).value_or(0);
  const std::uint64_t in_use = usage - std::min(usage, cached);
  memory.total_bytes = std::min(memory.total_bytes, *limit);
  memory.available_bytes = std::min(memory.available_bytes, *limit - std::min(*limit, in_use));
}

// A limit of any ancestor holds too. In a container the path may be the host's, and then only the
// mount's own root, which is the container's group, is there to be read.
void apply_group(const fs::path& root, const CgroupFiles& files, fs::path group,
                 HostMemory& memory) {
  const fs::path mount = root / files.mount;
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    apply_limit(mount / group, files, memory);
  }
  apply_limit(mount, files, memory);
}

// The limit of this process's addresses (ulimit -v), of which what is mapped has taken its part.
void apply_address_limit(const fs::path& root, HostMemory& memory) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::uint64_t mapped = number_in(root / "proc/self/statm").value_or(0) *
                               static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  memory.total_bytes = std::min<std::uint64_t>(memory.total_bytes, limit.rlim_cur);
  memory.available_bytes = std::min<std::uint64_t>(
      memory.available_bytes, limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, mapped));
}

bool lacks_descriptors() {
  const int another = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (another < 0) return errno == EMFILE;
  close(another);
  return false;
}

bool has_memory_controller(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

HostMemory host_memory(const fs::path& root) {
  const fs::path meminfo = root / "proc/meminfo";
  const auto total_kib = number_after(meminfo, "MemTotal:");
  const auto available_kib = number_after(meminfo, "MemAvailable:");
  if (!total_kib || !available_kib) {
    throw run_error(
        fmt::format("can't read how much memory there is from '{}'", meminfo.string()),
        lacks_descriptors() ? "raise the limit of open files (ulimit -n)" : "is /proc mounted?");
  }
  HostMemory memory{.total_bytes = *total_kib << 10, .available_bytes = *available_kib << 10};

  apply_address_limit(root, memory);

  // "4:memory:/group" for version 1, "0::/group" for version 2.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) apply_group(root, v2, group, memory);
    if (has_memory_controller(controllers)) apply_group(root, v1, group, memory);
  }
  return memory;
}

}  // namespace troupe
