#include "bench/task_bench/process.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fcntl.h>
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

// Where the processes of one measurement leave their results. A pipe that they open by its path: a
// launcher may close the descriptors that they would inherit.
class Results {
 public:
  Results() {
    if (pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) throw refused("a pipe");
  }
  ~Results() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), ends_[1]); }
  // The processes must have ended.
  std::vector<Measurement> read_all() const {
    std::vector<Measurement> all;
    for (Measurement m; read(ends_[0], &m, sizeof m) == sizeof m;) all.push_back(m);
    return all;
  }

 private:
  int ends_[2];
};

// Runs a command, which ends with this program. Blocks until it ends. Returns whether it succeeded.
bool execute(std::vector<std::string>& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw refused("another process");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(argv[0], argv.data());
    std::perror(argv[0]);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

Measurement measure_here(const Runtime& runtime, const Workload& workload) {
  const Measure measure = runtime.measure != nullptr ? runtime.measure : load_measure(runtime);
  if (workload.on_nodes) return {.times = measure(workload)};
  reset_peak();
  const std::uint64_t before = status_bytes("VmRSS:");
  Measurement m{.times = measure(workload)};
  const std::uint64_t peak = status_bytes("VmHWM:");
  m.peak_bytes = peak > before ? peak - before : 0;
  return m;
}

void send_result(const Measurement& measurement, const std::string& path) {
  static_assert(std::is_trivially_copyable_v<Measurement>);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) throw refused("to write the measurement");
  // Smaller than PIPE_BUF: never mixed with that of another process.
  const ssize_t written = write(fd, &measurement, sizeof measurement);
  close(fd);
  if (written != sizeof measurement) throw refused("to write the measurement");
}

std::optional<Measurement> measure_apart(const Runtime& runtime, const Workload& workload,
                                         std::vector<std::string> arguments) {
  const Results results;
  std::vector<std::string> words;
  if (runtime.launcher != nullptr) words = runtime.launcher(workload.cores.size());
  const std::size_t processes = runtime.launcher != nullptr ? workload.cores.size() : 1;
  words.push_back(std::filesystem::read_symlink("/proc/self/exe"));
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--report", results.path()});
  const bool has_succeeded = execute(words);
  const std::vector<Measurement> all = results.read_all();
  if (!has_succeeded || all.size() != processes) return std::nullopt;
  Measurement m;
  for (const Measurement& of_one : all) {
    m.times.build = std::max(m.times.build, of_one.times.build);
    m.times.plan = std::max(m.times.plan, of_one.times.plan);
    m.times.run = std::max(m.times.run, of_one.times.run);
    m.times.rest = std::max(m.times.rest, of_one.times.rest);
    m.peak_bytes = std::max(m.peak_bytes, of_one.peak_bytes);
  }
  return m;
}

}  // namespace troupe::bench
