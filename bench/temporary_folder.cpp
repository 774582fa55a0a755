#include "bench/temporary_folder.hpp"

#include "core/base/error.hpp"

#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::bench {
namespace {

// Between fork and exec, where nothing may allocate. Nobody writes to the pipe: the read ends when
// no process has its other end.
[[noreturn]] void remove_in_the_end(const int* ends, const char* path) {
  setsid();  // Ctrl-C is for the others
  close(ends[1]);
  char nothing = 0;
  while (read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
  }
  execl("/bin/rm", "rm", "-rf", "--", path, nullptr);
  _exit(127);
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent) {
  std::string name = parent / "troupe_bench-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw run_error(fmt::format("there can't be a folder in '{}'", parent.string()));
  }
  path_ = name;
  int ends[2];
  if (pipe(ends) == 0) {
    remover_ = fork();
    if (remover_ == 0) remove_in_the_end(ends, path_.c_str());
    close(ends[0]);
    held_ = ends[1];
  }
  if (remover_ < 0) {
    if (held_ >= 0) close(held_);
    rmdir(path_.c_str());
    throw run_error("the system refuses another process");
  }
}

TemporaryFolder::~TemporaryFolder() {
  kill(remover_, SIGKILL);
  waitpid(remover_, nullptr, 0);
  close(held_);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace troupe::bench
