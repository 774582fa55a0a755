#include "bench/task_bench/process.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {
namespace {

// The field `name` of /proc/self/status in bytes (the file has KiB). 0 if there is no such field.
std::uint64_t status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size())) * 1024;
  }
  return 0;
}

// Resets the peak of the resident set (VmHWM). Old kernels ignore it.
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

Error refused(std::string_view what) {
  return run_error(fmt::format("the system refuses {}: {}", what, std::strerror(errno)));
}

}  // namespace

Measurement measure_here(const Runtime& runtime, const Workload& workload) {
  const Measure measure = runtime.measure != nullptr ? runtime.measure : load_measure(runtime);
  reset_peak();
  const std::uint64_t before = status_bytes("VmRSS:");
  Measurement m{.times = measure(workload)};
  const std::uint64_t peak = status_bytes("VmHWM:");
  m.peak_bytes = peak > before ? peak - before : 0;
  return m;
}

void send_result(const Measurement& measurement, int fd) {
  static_assert(std::is_trivially_copyable_v<Measurement>);
  if (write(fd, &measurement, sizeof measurement) != sizeof measurement) {
    throw refused("to write the measurement");
  }
}

std::optional<Measurement> measure_apart(std::vector<std::string> arguments) {
  int ends[2];
  if (pipe(ends) != 0) throw refused("a pipe");
  arguments.insert(arguments.begin(), "task_bench");
  arguments.insert(arguments.end(), {"--report-fd", std::to_string(ends[1])});
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw refused("another process");
  if (child == 0) {
    close(ends[0]);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // the measurement ends with this program
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  Measurement m;
  ssize_t got = 0;
  do {
    got = read(ends[0], &m, sizeof m);
  } while (got < 0 && errno == EINTR);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool is_complete = got == sizeof m && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return is_complete ? std::optional(m) : std::nullopt;
}

}  // namespace troupe::bench
